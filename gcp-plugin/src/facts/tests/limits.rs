use std::time::Duration;

use proptest::prelude::*;

use super::super::limit::{Limit, LimitText, Whose, limit_of, period};
use super::*;

fn limit(name: &str, unit: &str, metric: &str, value: &str) -> Option<Limit> {
    let some = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    let leak = |text: &str| some(Box::leak(text.to_owned().into_boxed_str()));
    let text = LimitText { name: leak(name), unit: leak(unit), metric: leak(metric), value: leak(value) };
    limit_of(&text)
}

#[test]
fn a_limit_is_told_with_its_period() {
    for (name, unit, metric, wanted) in [
        ("ReadRequestsPerMinutePerProject", "", "x.googleapis.com/read_requests", (1200, 60)),
        ("ReadRequestsPerMinutePerProject", "1/min/{project}", "x.googleapis.com/read_requests", (1200, 60)),
        ("", "1/min/{project}", "x.googleapis.com/read_requests", (1200, 60)),
        ("defaultPerMinutePerProject", "", "x.googleapis.com/default_requests", (1200, 60)),
        ("CLIENT_PROJECT-100s", "", "x.googleapis.com/read_requests", (1200, 100)),
        ("QueriesPer100SecondsPerProject", "", "", (1200, 100)),
        ("ForecastHoursQueriesPerDay", "1/d/{project}", "weather.googleapis.com/hours", (1200, 86_400)),
        ("read-requests-per-minute", "", "x.googleapis.com/read", (1200, 60)),
        ("ApiCallsPerSecond", "", "", (1200, 1)),
    ] {
        let limit = limit(name, unit, metric, "1200").expect(name);
        assert_eq!((limit.calls, limit.per.as_secs()), wanted, "{name} {unit}");
        assert_eq!(limit.whose, Whose::Project, "{name} {unit}");
    }
}

#[test]
fn a_limit_in_doubt_is_not_told() {
    for (name, unit, metric, value) in [
        ("ReadRequestsPerMinutePerProject", "1/d/{project}", "x/read_requests", "1200"),
        ("ReadRequestsPerProject", "", "x/read_requests", "1200"),
        ("ReadRequestsPerMinutePerDay", "", "x/read_requests", "1200"),
        ("ListRequestsPerMinutePerProjectPerRegion", "", "x/read_requests", "1200"),
        ("ReadRequestsPerMinutePerProject", "1/min/{organization}", "x/read_requests", "1200"),
        ("ReadRequestsPerMinutePerOrganization", "1/min/{project}", "x/read_requests", "1200"),
        ("ReadRequestsPerMinute", "", "x/organization_read_requests", "1200"),
        ("ReadRequestsPerMinutePerOrganizationPerUser", "", "x/read_requests", "1200"),
        ("ReadRequestsPerMinutePerOrganization", "", "x/read_requests_per_region", "1200"),
        ("WriteRequestsPerMinutePerUser", "", "x/write_requests", "1200"),
        ("USER-100s", "", "x/read_requests", "1200"),
        ("ReadRequestsPerMinute", "1/min/{project}/{region}", "x/read_requests", "1200"),
        ("InputTokensPerMinutePerProject", "", "x/input_tokens", "1200"),
        ("BytesPerMinute", "", "x/bytes", "1200"),
        ("ReadRequestsPerMinutePerProject", "", "x/read_requests", ""),
        ("ReadRequestsPerMinutePerProject", "", "x/read_requests", "0"),
        ("ReadRequestsPerMinutePerProject", "", "x/read_requests", "-1"),
        ("ReadRequestsPerMinutePerProject", "", "x/read_requests", "many"),
        ("ReadRequestsPerMinutePerProject", "", "x/read_requests", "99999999999999999999999"),
        ("", "", "", "1200"),
    ] {
        assert_eq!(limit(name, unit, metric, value), None, "{name} {unit} {value}");
    }
}

#[test]
fn a_limit_of_the_organization_is_told_as_that() {
    for (name, unit) in [
        ("ListAssetsRequestsPerMinutePerOrganization", ""),
        ("ListAssetsRequestsPerMinutePerOrg", ""),
        ("ListAssetsRequestsPerMinutePerOrganization", "1/min/{organization}"),
        ("", "1/min/{organization}"),
    ] {
        let limit = limit(name, unit, "cloudasset.googleapis.com/list_assets_requests", "800").expect(name);
        assert_eq!((limit.calls, limit.per.as_secs(), limit.whose), (800, 60, Whose::Organization), "{name} {unit}");
    }
}

#[test]
fn the_group_of_operations_is_what_a_name_begins_with() {
    for (name, group) in [
        ("ReadRequestsPerMinutePerProject", Some("read")),
        ("read-requests-per-minute", Some("read")),
        ("OperationReadRequestsPerMinutePerProject", Some("operationread")),
        ("RequestsPerMinutePerProject", None),
        ("ApiCallsPerSecond", None),
        ("", None),
    ] {
        let found = limit(name, "", "x/requests", "1200").and_then(|limit| limit.group);
        assert_eq!(found.as_deref(), group, "{name}");
    }
}

#[test]
fn a_limit_and_its_consumer_come_with_the_answer() {
    let told = Told::of(&answer(429, "RESOURCE_EXHAUSTED", "Quota exceeded", READS_PER_MINUTE));
    let (per, group) = (Duration::from_secs(60), Some("read".to_owned()));
    assert_eq!(told.limit, Some(Limit { calls: 1200, per, whose: Whose::Project, group }));
    assert_eq!(told.consumer.as_deref(), Some("projects/12345678910"));
}

#[test]
fn the_consumer_is_read_off_the_message_where_no_detail_has_it() {
    let message = "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of service \
                   'cloudresourcemanager.googleapis.com' for consumer 'project_number:12345678910'.";
    let told = Told::of(&answer(429, "RESOURCE_EXHAUSTED", message, "[]"));
    assert_eq!(told.consumer.as_deref(), Some("projects/12345678910"));
    let odd = message.replace("12345678910", "1/../2");
    assert_eq!(Told::of(&answer(429, "RESOURCE_EXHAUSTED", &odd, "[]")).consumer, None);
}

proptest! {
    #[test]
    fn any_name_has_a_period_or_none(text in ".{0,60}", value in ".{0,30}") {
        let _ = period(&text);
        let text = LimitText { name: Some(&text), unit: Some(&text), metric: Some(&text), value: Some(&value) };
        prop_assert!(limit_of(&text).is_none_or(|limit| limit.calls > 0 && !limit.per.is_zero()));
    }
}
