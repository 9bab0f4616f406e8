use aws_smithy_types::body::SdkBody;

use super::*;

fn cost(service: &'static str, operation: &'static str, form: &str) -> Option<u32> {
    let request = HttpRequest::new(SdkBody::from(form));
    Cost::of(&Metadata::new(operation, service), &request).map(|Cost(units)| units.get())
}

#[test]
fn instances_are_counted_as_the_request_names_them() {
    for (operation, form, units) in [
        ("RunInstances", "Action=RunInstances&Version=2016-11-15&ImageId=ami-1&MaxCount=40&MinCount=1", Some(40)),
        ("RunInstances", "Action=RunInstances&Version=2016-11-15&MinCount=1", None),
        ("RunInstances", "Action=RunInstances&MaxCount=0", None),
        ("RunInstances", "Action=RunInstances&MaxCount=-1", None),
        ("RunInstances", "Action=RunInstances&MaxCount=4294967296", None),
        ("StartInstances", "Action=StartInstances&InstanceId.1=i-1&InstanceId.2=i-2&InstanceId.3=i-3", Some(3)),
        ("StopInstances", "Action=StopInstances&Force=true&InstanceId.1=i-1", Some(1)),
        ("TerminateInstances", "Action=TerminateInstances&InstanceId.1=i-1&InstanceId.2=i-2", Some(2)),
        ("TerminateInstances", "Action=TerminateInstances", None),
        ("RebootInstances", "Action=RebootInstances&InstanceId.1=i-1&InstanceId.2=i-2", None),
    ] {
        assert_eq!(cost("EC2", operation, form), units, "{form}");
    }
}

#[test]
fn an_operation_of_the_same_name_elsewhere_costs_nothing_special() {
    assert_eq!(cost("GameLift", "RunInstances", "MaxCount=40"), None);
}

#[test]
fn a_form_of_any_length_is_not_looked_through() {
    let form = |length| format!("Action=RunInstances&UserData={}&MaxCount=40", "a".repeat(length));
    assert_eq!(cost("EC2", "RunInstances", &form(22_000)), Some(40));
    assert_eq!(cost("EC2", "RunInstances", &form(LONGEST_FORM)), None);
}

#[test]
fn what_is_no_form_in_memory_costs_nothing_special() {
    let unread = HttpRequest::new(SdkBody::taken());
    assert_eq!(Cost::of(&Metadata::new("RunInstances", "EC2"), &unread), None);
    let bytes = HttpRequest::new(SdkBody::from(&b"MaxCount=40&\xff"[..]));
    assert_eq!(Cost::of(&Metadata::new("RunInstances", "EC2"), &bytes), None);
}
