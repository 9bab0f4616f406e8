use std::time::Duration;

use proptest::prelude::*;

use super::super::limit::{LimitText, limit_of, period};
use super::*;

fn limit(name: &str, unit: &str, metric: &str, value: &str) -> Option<(u64, u64)> {
    let some = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    let leak = |text: &str| some(Box::leak(text.to_owned().into_boxed_str()));
    let text = LimitText { name: leak(name), unit: leak(unit), metric: leak(metric), value: leak(value) };
    limit_of(&text).map(|(calls, per)| (calls, per.as_secs()))
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
        assert_eq!(limit(name, unit, metric, "1200"), Some(wanted), "{name} {unit}");
    }
}

#[test]
fn a_limit_in_doubt_is_not_told() {
    for (name, unit, metric, value) in [
        ("ReadRequestsPerMinutePerProject", "1/d/{project}", "x/read_requests", "1200"),
        ("ReadRequestsPerProject", "", "x/read_requests", "1200"),
        ("ReadRequestsPerMinutePerDay", "", "x/read_requests", "1200"),
        ("ListRequestsPerMinutePerProjectPerRegion", "", "x/read_requests", "1200"),
        ("DefaultRequestsPerMinutePerOrganization", "", "x/default_requests", "1200"),
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
fn a_limit_and_its_consumer_come_with_the_answer() {
    let told = Told::of(&answer(429, "RESOURCE_EXHAUSTED", "Quota exceeded", READS_PER_MINUTE));
    assert_eq!(told.limit, Some((1200, Duration::from_secs(60))));
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
        prop_assert!(limit_of(&text).is_none_or(|(calls, per)| calls > 0 && !per.is_zero()));
    }
}
