use std::collections::HashMap;
use std::time::Duration;

use cloud_governor::{Class, Classification, Rules, Scope};
#[cfg(feature = "clients")]
use proptest::prelude::*;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, QuotaViolation, StatusExt};

use super::*;

const EXHAUSTED: Code = Code::ResourceExhausted;

fn verdict(told: Told<'_>) -> Classification {
    let scope = Scope::new("gcp", "projects/p", "", "pubsub");
    Rules::new().classify(&told.facts.in_scope(&scope))
}

fn info(reason: &str, metadata: &[(&str, &str)]) -> ErrorDetails {
    let metadata: HashMap<_, _> = metadata.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    ErrorDetails::with_error_info(reason, "googleapis.com", metadata)
}

fn with(details: ErrorDetails) -> Status {
    Status::with_error_details(EXHAUSTED, "Quota exceeded.", details)
}

#[test]
fn a_rate_tells_who_was_charged_and_how_many_calls_there_are_in_which_time() {
    let status = with(info(
        "RATE_LIMIT_EXCEEDED",
        &[
            ("consumer", "projects/123"),
            ("quota_limit", "AdministratorRequestsPerMinutePerProject"),
            ("quota_metric", "pubsub.googleapis.com/administrator_requests"),
            ("quota_limit_value", "6000"),
        ],
    ));
    let told = Told::of_status(&status);
    assert_eq!(told.consumer.as_deref(), Some("projects/123"));
    assert_eq!(told.limit.as_ref().map(|limit| (limit.calls, limit.per)), Some((6000, Duration::from_secs(60))));
    assert_eq!(verdict(told).class, Class::Throttled);
}

#[test]
fn quotas_that_no_wait_helps_are_final() {
    let failure = |id: &str, description: &str| {
        let violation =
            QuotaViolation { quota_id: id.into(), description: description.into(), ..QuotaViolation::default() };
        ErrorDetails::with_quota_failure(vec![violation])
    };
    for status in [
        with(info("RATE_LIMIT_EXCEEDED", &[("quota_limit", "CLIENT_PROJECT-1d")])),
        with(info("RATE_LIMIT_EXCEEDED", &[("quota_unit", "1/d/{project}")])),
        with(info("RATE_LIMIT_EXCEEDED", &[("quota_limit", "ReadsPerMinute"), ("quota_limit_value", "0")])),
        with(failure("ExportsPerDayPerProject", "")),
        with(failure("", "Daily limit for this project was reached.")),
        Status::new(EXHAUSTED, "Quota limit 'HighScaleSSDStorageGibPerRegion' has been exceeded."),
        Status::new(EXHAUSTED, "Quota exceeded for quota metric 'Queries' and limit 'Queries per day' of service 'x'"),
    ] {
        assert_eq!(verdict(Told::of_status(&status)).class, Class::Fatal, "{status:?}");
    }
}

#[test]
fn the_wait_of_a_retry_info_is_heeded_and_so_is_that_of_a_header() {
    let wait = Duration::from_millis(12_500);
    let status = with(ErrorDetails::with_retry_info(Some(wait)));
    assert_eq!(verdict(Told::of_status(&status)).retry_after, Some(wait));

    let mut status = Status::new(Code::Unavailable, "");
    status.metadata_mut().insert("retry-after", "3".parse().unwrap());
    let meaning = verdict(Told::of_status(&status));
    assert_eq!((meaning.class, meaning.retry_after), (Class::Transient, Some(Duration::from_secs(3))));
}

#[test]
fn details_that_cannot_be_read_leave_the_code() {
    for bytes in [&b""[..], b"\xff\xff\xff", b"\x08\x08\x12\x04text\x1a\x02\x0a\xff"] {
        let status = Status::with_details(Code::Unavailable, "text", bytes.to_vec().into());
        let told = Told::of_status(&status);
        assert_eq!((&told.consumer, &told.limit), (&None, &None));
        assert_eq!(verdict(told).class, Class::Transient);
    }
}

#[test]
fn what_is_no_name_is_not_shown() {
    let secret = "ya29.secret token";
    let told = Told::of_status(&with(info(secret, &[("consumer", secret), ("quota_limit", secret)])));
    assert!(!format!("{told:?}").contains("ya29"));
}

#[cfg(feature = "clients")]
proptest! {
    #[test]
    fn a_status_says_what_it_would_say_by_an_official_client(
        code in 1..17i32,
        message in proptest::sample::select(vec![
            "", "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service 'x'",
            "Quota limit 'Vms' has been exceeded.", "Exceeded rate limits: too many requests", "gone for the day",
        ]),
        reason in proptest::option::of(proptest::sample::select(vec!["RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED", "é", ""])),
        limit in proptest::sample::select(vec!["ReadRequestsPerMinutePerProject", "PerDay", "USER-100s", ""]),
        value in proptest::sample::select(vec!["0", "1200", "many"]),
        consumer in proptest::sample::select(vec!["projects/123", "123", "projects/a b"]),
        wait in proptest::option::of(0..100_000u64),
        quota_id in proptest::option::of("[A-Za-z/ ]{0,12}(PerDay)?"),
    ) {
        let mut details = ErrorDetails::new();
        if let Some(reason) = reason {
            let metadata = [("quota_limit", limit), ("quota_limit_value", value), ("consumer", consumer)];
            details = info(reason, &metadata);
        }
        if let Some(wait) = wait {
            details.set_retry_info(Some(Duration::from_millis(wait)));
        }
        if let Some(id) = quota_id {
            details.add_quota_failure_violation("project", "requests");
            let violation = QuotaViolation { quota_id: id, ..QuotaViolation::default() };
            details.set_quota_failure(vec![violation]);
        }
        let status = Status::with_error_details(Code::from_i32(code), message, details);
        let official = google_cloud_gax_internal::grpc::from_status::to_gax_error(status.clone());
        let (one, other) = (Told::of_status(&status), Told::of(&official));
        prop_assert_eq!((&one.consumer, &one.limit), (&other.consumer, &other.limit));
        prop_assert_eq!(verdict(one), verdict(other));
    }
}

/// Seconds as they are written in ten bytes: five, and the least that there are.
#[test]
fn a_delay_beyond_all_bounds_is_no_delay() {
    const TYPE: &[u8] = b"type.googleapis.com/google.rpc.RetryInfo";
    for (first, last, delay) in [(0x85, 0x00, Some(Duration::from_secs(5))), (0x80, 0x01, None)] {
        let seconds = [&[0x08, first][..], &[0x80; 8], &[last]].concat();
        let any = [&[10, 40], TYPE, &[18, 13, 10, 11], &seconds].concat();
        let details = [&[26, 57], &any[..]].concat();
        let status = Status::with_details(EXHAUSTED, "Quota exceeded.", details.into());
        assert_eq!(Told::of_status(&status).facts.retry_after(), delay);
    }
}
