//! The simulated EC2, seen on the wire.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::common::{OTHER_REGION, REGION, Site, limited, signed, size, start, wide_open};
use cloud_governor_examples::sim::aws::{Aws, Ec2Estate, Fleet, Limits};
use cloud_governor_examples::sim::{Cloud, Leaf};
use proptest::prelude::*;

const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";
const ACTIONS: [&str; 5] =
    ["DescribeVpcs", "DescribeSubnets", "DescribeSecurityGroups", "DescribeInstances", "DescribeVolumes"];

/// The texts of all elements of this name.
fn texts<'a>(body: &'a str, element: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    body.split(&open).skip(1).filter_map(|rest| rest.split_once(&close)).map(|(text, _)| text).collect()
}

/// Follows a list to its end: the ids of its rows, page by page.
async fn follow(site: &Site, action: &str, element: &str, form: &str) -> Vec<Vec<String>> {
    let (mut pages, mut token) = (Vec::new(), String::new());
    loop {
        let got = site.ec2(0, REGION, action, &format!("{form}{token}")).await.expect("an answer");
        assert_eq!(got.status, 200, "{}", got.body);
        pages.push(texts(&got.body, element).into_iter().map(str::to_owned).collect());
        match texts(&got.body, "nextToken").as_slice() {
            [] => return pages,
            [next] => token = format!("&NextToken={next}"),
            more => panic!("{more:?}"),
        }
    }
}

fn estate(site: &Site) -> &Ec2Estate {
    &site.account(0).estate(REGION).ec2
}

#[tokio::test]
async fn vpcs_come_in_ec2_s_own_xml() {
    let site = start(wide_open()).await;
    let vpc = &estate(&site).vpcs[3];
    let got = site.ec2(0, REGION, "DescribeVpcs", &format!("&VpcId.1={}", vpc.id)).await.expect("an answer");
    assert_eq!(got.headers["content-type"], "text/xml");
    let request_id = got.headers["x-amzn-requestid"].to_str().expect("text");
    let (id, owner) = (&vpc.id, site.account(0).id());
    assert_eq!(
        got.body,
        format!(
            "<DescribeVpcsResponse xmlns=\"{NAMESPACE}\"><requestId>{request_id}</requestId><vpcSet><item>\
             <vpcId>{id}</vpcId><ownerId>{owner}</ownerId><state>available</state><cidrBlock>10.3.0.0/16</cidrBlock>\
             <dhcpOptionsId>dopt-00000000000000001</dhcpOptionsId><instanceTenancy>default</instanceTenancy>\
             <isDefault>false</isDefault></item></vpcSet></DescribeVpcsResponse>"
        )
    );
}

#[tokio::test]
async fn every_list_is_found_whole_page_by_page() {
    let site = start(wide_open()).await;
    let Ec2Estate { vpcs, instances, volumes, .. } = estate(&site);
    let all = |ids: &mut dyn Iterator<Item = &String>| ids.cloned().collect::<Vec<_>>();
    let cases = [
        ("DescribeVpcs", "vpcId", all(&mut vpcs.iter().map(|vpc| &vpc.id))),
        ("DescribeSubnets", "subnetId", all(&mut vpcs.iter().flat_map(|vpc| &vpc.subnets))),
        ("DescribeSecurityGroups", "groupId", all(&mut vpcs.iter().flat_map(|vpc| &vpc.security_groups))),
        ("DescribeInstances", "instanceId", all(&mut instances.iter().map(|instance| &instance.id))),
    ];
    for (action, element, expected) in cases {
        let pages = follow(&site, action, element, "&MaxResults=7").await;
        assert_eq!(pages.len(), expected.len().div_ceil(7), "{action}");
        assert_eq!(pages.concat(), expected, "{action}");
        let whole = follow(&site, action, element, "").await;
        assert_eq!(whole, [expected], "{action} without a page size");
    }
    // An attachment repeats the volume's id.
    let pages = follow(&site, "DescribeVolumes", "volumeId", "&MaxResults=7").await;
    assert_eq!(pages.len(), volumes.len().div_ceil(7));
    let found: BTreeSet<_> = pages.concat().into_iter().collect();
    assert_eq!(found, volumes.iter().cloned().collect());
}

#[tokio::test]
async fn a_vpc_s_own_are_found_by_filter() {
    let site = start(wide_open()).await;
    let vpcs = &estate(&site).vpcs;
    let vpc = vpcs.iter().find(|vpc| vpc.subnets.len() > 5).expect("a large one");
    let filter = format!("&MaxResults=5&Filter.1.Name=vpc-id&Filter.1.Value.1={}", vpc.id);
    assert_eq!(follow(&site, "DescribeSubnets", "subnetId", &filter).await.concat(), vpc.subnets);
    assert_eq!(follow(&site, "DescribeSecurityGroups", "groupId", &filter).await.concat(), vpc.security_groups);
    assert_eq!(follow(&site, "DescribeVpcs", "vpcId", &filter).await.concat(), [vpc.id.as_str()]);
    let inside = estate(&site).instances.iter().filter(|instance| instance.vpc == vpc.id);
    let inside: Vec<_> = inside.map(|instance| instance.id.clone()).collect();
    assert_eq!(follow(&site, "DescribeInstances", "instanceId", &filter).await.concat(), inside);

    let other = &vpcs.iter().find(|other| other.id != vpc.id).expect("another").id;
    let both = format!("{filter}&Filter.1.Value.2={other}");
    assert_eq!(follow(&site, "DescribeVpcs", "vpcId", &both).await.concat().len(), 2);
    let neither = format!("{filter}&Filter.2.Name=vpc-id&Filter.2.Value.1={other}");
    assert!(follow(&site, "DescribeVpcs", "vpcId", &neither).await.concat().is_empty());
    let none = "&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-none";
    assert!(follow(&site, "DescribeSubnets", "subnetId", none).await.concat().is_empty());
}

#[tokio::test]
async fn instances_of_one_launch_share_their_reservation() {
    let site = start(wide_open()).await;
    let got = site.ec2(0, REGION, "DescribeInstances", "").await.expect("an answer");
    let launches = estate(&site).instances.chunk_by(|a, b| a.reservation == b.reservation);
    assert_eq!(texts(&got.body, "reservationId").len(), launches.count());
    let first = texts(&got.body, "instancesSet")[0];
    let together = estate(&site).instances.iter().filter(|instance| instance.reservation == 0).count();
    assert_eq!(texts(first, "imageId").len(), together);
}

#[tokio::test]
async fn what_ec2_would_not_take_is_refused_in_its_own_shape() {
    let site = start(wide_open()).await;
    let instance = &estate(&site).instances[0].id;
    let both = format!("&MaxResults=5&InstanceId.1={instance}");
    let cases = [
        ("DescribeVpcs", "&VpcId.1=vpc-none", "InvalidVpcID.NotFound"),
        ("DescribeSubnets", "&SubnetId.1=subnet-none", "InvalidSubnetID.NotFound"),
        ("DescribeSecurityGroups", "&GroupId.1=sg-none", "InvalidGroup.NotFound"),
        ("DescribeInstances", "&InstanceId.1=i-none", "InvalidInstanceID.NotFound"),
        ("DescribeVolumes", "&VolumeId.1=vol-none", "InvalidVolume.NotFound"),
        ("DescribeInstances", &both, "InvalidParameterCombination"),
        ("DescribeVpcs", "&MaxResults=4", "InvalidParameterValue"),
        ("DescribeVpcs", "&MaxResults=1001", "InvalidParameterValue"),
        ("DescribeVpcs", "&MaxResults=many", "InvalidParameterValue"),
        ("DescribeVpcs", "&NextToken=00000000000000000000000000000000", "InvalidNextToken"),
        ("DescribeVpcs", "&InstanceId.1=i-1", "UnknownParameter"),
        ("DescribeVpcs", "&VpcId=vpc-1", "UnknownParameter"),
        ("DescribeVpcs", "&DryRun=true", "UnknownParameter"),
        ("DescribeVpcs", "&Filter.one.Name=vpc-id", "UnknownParameter"),
        ("DescribeVpcs", "&Filter.1.Name=cidr&Filter.1.Value.1=10.0.0.0/16", "InvalidParameterValue"),
        ("DescribeVpcs", "&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-*", "InvalidParameterValue"),
        ("DescribeVpcs", "&Filter.1.Name=vpc-id&Filter.1.Name=cidr&Filter.1.Value.1=vpc-1", "InvalidQueryParameter"),
        ("DescribeVpcs", "&MaxResults=5&MaxResults=1000", "InvalidQueryParameter"),
        ("DescribeVpcs", "&%4DaxResults=5&MaxResults=5", "InvalidQueryParameter"),
        ("DescribeVpcs", "&Action=DescribeVpcs", "InvalidQueryParameter"),
        ("DescribeVpcs", "&MaxResults=", "InvalidParameterValue"),
        ("DescribeVpcs", "&MaxResults=0", "InvalidParameterValue"),
        ("DescribeVpcs", "&MaxResults=99999999999999999999", "InvalidParameterValue"),
        ("DescribeVpcs", "&NextToken=", "InvalidNextToken"),
        ("DescribeVpcs", "&Filter.1.Name=vpc-id", "MissingParameter"),
        ("DescribeVpcs", "&Filter.1.Value.1=vpc-1", "MissingParameter"),
        ("DescribeVolumes", "&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1", "InvalidParameterValue"),
        ("RebootTheMoon", "", "InvalidAction"),
    ];
    for (action, form, code) in cases {
        let got = site.ec2(0, REGION, action, form).await.expect("an answer");
        assert_eq!(got.status, 400, "{action}{form}");
        let start = format!("<Response><Errors><Error><Code>{code}</Code><Message>");
        assert!(got.body.starts_with(&start), "{action}{form}: {}", got.body);
        let request_id = got.headers["x-amzn-requestid"].to_str().expect("text");
        let end = format!("</Message></Error></Errors><RequestID>{request_id}</RequestID></Response>");
        assert!(got.body.ends_with(&end), "{}", got.body);
    }
    for (form, code) in
        [("Action=DescribeVpcs&Version=2014-01-01", "NoSuchVersion"), ("Version=2016-11-15", "MissingAction")]
    {
        let got = site.send(signed(site.account(0), REGION, "ec2"), form).await.expect("an answer");
        assert!(got.status == 400 && got.body.contains(code), "{}", got.body);
    }
}

#[tokio::test]
async fn a_token_of_another_selection_is_refused() {
    let site = start(wide_open()).await;
    let got = site.ec2(0, REGION, "DescribeSubnets", "&MaxResults=5").await.expect("an answer");
    let token = texts(&got.body, "nextToken")[0];
    let vpc = &estate(&site).vpcs[0].id;
    let form = format!("&MaxResults=5&NextToken={token}&Filter.1.Name=vpc-id&Filter.1.Value.1={vpc}");
    let got = site.ec2(0, REGION, "DescribeSubnets", &form).await.expect("an answer");
    assert!(got.status == 400 && got.body.contains("InvalidNextToken"), "{}", got.body);
}

/// Whatever is quoted of a request, an answer is XML.
#[tokio::test]
async fn what_no_xml_can_hold_is_not_quoted() {
    let site = start(wide_open()).await;
    for form in ["&VpcId.1=a%00b%1bc%3Cd", "&a%00b%1bc%3Cd=1", "&MaxResults=a%00b%1bc%3Cd", "&VpcId.1=a%EF%BF%BFbc%3Cd"]
    {
        let got = site.ec2(0, REGION, "DescribeVpcs", form).await.expect("an answer");
        assert_eq!(got.status, 400);
        assert!(got.body.contains("abc&lt;d"), "{:?}", got.body);
    }
}

#[tokio::test]
async fn filters_may_be_numbered_with_gaps() {
    let site = start(wide_open()).await;
    let vpc = &estate(&site).vpcs[0].id;
    let form = format!("&Filter.9.Value.7={vpc}&Filter.9.Value.3={vpc}&Filter.9.Name=vpc-id&VpcId.40={vpc}");
    assert_eq!(follow(&site, "DescribeVpcs", "vpcId", &form).await.concat(), [vpc.as_str()]);
}

#[tokio::test]
async fn a_request_that_is_no_form_or_too_long_is_refused() {
    let site = start(wide_open()).await;
    let url = format!("{}/?Action=DescribeVpcs&Version=2016-11-15", site.server.url());
    let mut get = signed(site.account(0), REGION, "ec2").method("GET").body(http_body_util::Full::default());
    *get.as_mut().expect("a request").uri_mut() = url.parse().expect("a URL");
    let got = site.client.request(get.expect("a request")).await.expect("an answer");
    assert_eq!(got.status(), 400, "the parameters are those of the body");
    for (body, status) in [("", 400), ("{\"Action\":\"DescribeVpcs\"}", 400), (&"x".repeat(1 << 20), 413)] {
        let got = site.send(signed(site.account(0), REGION, "ec2"), body).await;
        // A client that is told while it still writes may not hear of it.
        assert!(got.is_err() && status == 413 || got.is_ok_and(|got| got.status == status), "{status}");
    }
}

#[tokio::test]
async fn strangers_are_refused_in_ec2_s_words() {
    let site = start(wide_open()).await;
    let stranger = signed(site.account(0), REGION, "ec2");
    let known = stranger.headers_ref().expect("headers")["authorization"].to_str().expect("text").to_owned();
    let unknown = known.replace(site.account(0).access_key_id(), "AKIANOBODY");
    let mut stranger = stranger;
    if let Some(headers) = stranger.headers_mut() {
        headers.insert("authorization", unknown.parse().expect("text"));
    }
    let got = site.send(stranger, "Action=DescribeVpcs&Version=2016-11-15").await.expect("an answer");
    assert!(got.status == 401 && got.body.contains("<Code>AuthFailure</Code>"), "{}", got.body);
    let got = site.ec2(0, "mars-north-1", "DescribeVpcs", "").await.expect("an answer");
    assert!(got.status == 403 && got.body.contains("<Code>SignatureDoesNotMatch</Code>"), "{}", got.body);
}

#[tokio::test(start_paused = true)]
async fn each_action_is_throttled_alone_with_a_503_of_ec2_s_own() {
    let limits =
        ACTIONS.iter().fold(Limits::default(), |limits, action| limited(limits, &format!("ec2.{action}"), 1.0, 1.0));
    let site = start(limits).await;
    for action in ACTIONS {
        let form = "&MaxResults=5";
        assert_eq!(site.ec2(0, REGION, action, form).await.expect("an answer").status, 200, "{action}");
        let got = site.ec2(0, REGION, action, form).await.expect("an answer");
        assert_eq!(got.status, 503, "{action}");
        let error = "<Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error>";
        assert!(got.body.contains(error), "{}", got.body);
        assert_eq!(site.ec2(0, OTHER_REGION, action, form).await.expect("an answer").status, 200, "{action}");
    }
    let seen = site.server.truth().snapshot();
    assert_eq!((seen.totals.answered, seen.totals.throttled), (10, 5));
}

/// The published figures: 100 for what names a page, a filter or an id, 50 for the same actions without.
#[tokio::test(start_paused = true)]
async fn asking_for_everything_at_once_draws_on_a_smaller_bucket_of_its_own() {
    let site = start(Limits::default()).await;
    let granted = async |action: &str, form: &str| {
        let mut granted = 0;
        while site.ec2(0, REGION, action, form).await.expect("an answer").status == 200 {
            granted += 1;
        }
        granted
    };
    let vpc = format!("&Filter.1.Name=vpc-id&Filter.1.Value.1={}", estate(&site).vpcs[0].id);
    for action in ["DescribeInstances", "DescribeSecurityGroups", "DescribeVolumes"] {
        assert_eq!(granted(action, "").await, 50, "{action}");
        assert_eq!(granted(action, "&MaxResults=5").await, 100, "{action}");
    }
    assert_eq!(granted("DescribeSubnets", "").await, 100);
    assert_eq!(granted("DescribeSubnets", &vpc).await, 0);
    assert_eq!(granted("DescribeVpcs", "").await, 100);
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    assert_eq!(granted("DescribeInstances", "").await, 10);
    assert_eq!(granted("DescribeInstances", &vpc).await, 20);
}

#[tokio::test]
async fn a_brownout_has_ec2_s_own_codes() {
    let site = start(wide_open()).await;
    site.server.faults().add("brownout=1".parse().expect("a fault"));
    let mut codes = BTreeSet::new();
    for _ in 0..24 {
        let got = site.ec2(0, REGION, "DescribeVpcs", "").await.expect("an answer");
        codes.insert((got.status.as_u16(), texts(&got.body, "Code")[0].to_owned()));
    }
    assert_eq!(codes, [(500, "InternalError".to_owned()), (503, "Unavailable".to_owned())].into());
}

#[tokio::test]
async fn the_ideal_counts_requests_of_ec2_as_paged() {
    let site = start(Limits::default()).await;
    let leaf = Leaf {
        account: site.account(0).id().into(),
        region: REGION.into(),
        service: "ec2".into(),
        operation: "DescribeInstances".into(),
    };
    assert_eq!(site.aws.ideal([(&leaf, 500)]).seconds, 20.0);
}

static AWS: LazyLock<Aws> =
    LazyLock::new(|| Aws::new(Fleet::seeded(1, &size()).expect("a possible size"), Limits::default()));

proptest! {
    #[test]
    fn no_form_is_too_odd_to_answer(
        form in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "(&(Filter|VpcId|InstanceId|MaxResults|NextToken)(\\.[0-9]{1,12}|\\.Name|\\.Value){0,3}=[a-z0-9*-]{0,9}){0,5}"
                .prop_map(Vec::from),
        ],
        action in prop::sample::select(ACTIONS.to_vec()),
    ) {
        let account = &AWS.fleet().accounts()[0];
        let body = [format!("Action={action}&Version=2016-11-15&").into_bytes(), form].concat();
        let (head, ()) = signed(account, REGION, "ec2").body(()).expect("a request").into_parts();
        // A form may name its action or its version once more, and the last one counts.
        if let Ok(call) = AWS.identify(1, &head, body.into()) {
            prop_assert_eq!(AWS.draws(&call).len(), 1);
            let answer = AWS.answer(&call);
            prop_assert!(answer.status() == 200 || answer.status() == 400);
            prop_assert!(std::str::from_utf8(answer.body()).is_ok());
        }
    }
}
