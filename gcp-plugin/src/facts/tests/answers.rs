use std::collections::HashMap;
use std::time::Duration;

use cloud_governor::Rule;
use tonic::Code;

use super::*;

const EXHAUSTED: &str = "Resource has been exhausted (e.g. check quota).";

fn info(reason: &str, metadata: &[(&str, &str)]) -> ErrorDetails {
    let metadata: HashMap<String, String> =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ErrorDetails::with_error_info(reason, "googleapis.com", metadata)
}

// ===== rates =====

#[test]
fn a_rate_limit_is_a_throttle_in_both_forms_of_an_answer_and_over_grpc() {
    let throttled = (Class::Throttled, Resend::Safe);
    let metadata = [("quota_limit", "ReadsPerMinutePerProject"), ("consumer", "projects/123")];
    for error in [
        answer(429, "RESOURCE_EXHAUSTED", "Quota exceeded", READS_PER_MINUTE),
        older(429, "Rate Limit Exceeded", "rateLimitExceeded"),
        older(403, "Rate Limit Exceeded", "rateLimitExceeded"),
        older(403, "User Rate Limit Exceeded", "userRateLimitExceeded"),
        grpc(Code::ResourceExhausted, EXHAUSTED, info("RATE_LIMIT_EXCEEDED", &metadata)),
    ] {
        assert_eq!(judged(&error), throttled, "{error:?}");
    }
}

#[test]
fn computes_403_is_a_throttle_though_its_status_is_unknown() {
    let legacy = older(
        403,
        "Quota exceeded for quota group 'ReadGroup' and limit 'Read requests per 100 seconds' of service \
         'compute.googleapis.com' for consumer 'project_number:123456'.",
        "rateLimitExceeded",
    );
    assert_eq!(legacy.status().unwrap().code, google_cloud_gax::error::rpc::Code::Unknown);
    let verdict = verdict_in("compute", &legacy);
    assert_eq!((verdict.class, verdict.resend, verdict.pays_budget), (Class::Throttled, Resend::Safe, false));
    assert_eq!(Told::of(&legacy).consumer.as_deref(), Some("projects/123456"));

    let details = r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com",
        "metadata":{"quota_limit":"ListRequestsPerMinutePerProject"}}]"#;
    let newer = answer(403, "PERMISSION_DENIED", "Rate Limit Exceeded", details);
    assert_eq!(verdict_in("compute", &newer).class, Class::Throttled);
}

#[test]
fn a_reason_that_the_client_lost_is_read_off_the_message() {
    let help = r#"[{"@type":"type.googleapis.com/google.rpc.Help","links":[]}]"#;
    for message in [
        "Rate Limit Exceeded",
        "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service \
         'compute.googleapis.com' for consumer 'project_number:123456'.",
        "Quota exceeded for quota group 'ReadGroup' and limit 'CLIENT_PROJECT-100s' of service \
         'cloudresourcemanager.googleapis.com' for consumer 'project_number:123456'.",
        "Exceeded rate limits: too many api requests per user per method for this user_method.",
    ] {
        let body = serde_json::json!({ "error": {
            "errors": [{ "message": message, "domain": "usageLimits", "reason": "rateLimitExceeded" }],
            "code": 403, "message": message,
            "details": serde_json::from_str::<serde_json::Value>(help).unwrap(),
        } });
        let error = http(403, &[], &body.to_string());
        assert!(error.http_payload().is_none(), "the client has parsed it, and lost the reason");
        assert_eq!(judged(&error), (Class::Throttled, Resend::Safe), "{message}");
    }
}

#[test]
fn the_first_reason_counts_that_is_one() {
    for (first, class_is) in [("", Class::Throttled), ("not a reason", Class::Throttled), ("OTHER", Class::Fatal)] {
        let details = format!(
            r#"[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{first}"}},
                {{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"}}]"#
        );
        assert_eq!(class(&answer(403, "PERMISSION_DENIED", "", &details)), class_is, "{first}");
    }
}

// ===== quotas =====

#[test]
fn a_quota_per_day_is_waited_for_by_nobody_whichever_way_it_is_named() {
    let per_day = |key: &str, value: &str| {
        format!(
            r#"[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com",
                "metadata":{{"{key}":"{value}"}}}}]"#
        )
    };
    let failure = |id: &str, description: &str| {
        format!(
            r#"[{{"@type":"type.googleapis.com/google.rpc.QuotaFailure",
                "violations":[{{"quotaId":"{id}","description":"{description}"}}]}}]"#
        )
    };
    let weather = r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":{"quota_unit":"1/d/{project}",
        "quota_limit_value":"60","quota_limit":"ForecastHoursQueriesPerDay","quota_metric":"weather.googleapis.com/hours"}}]"#;
    for error in [
        answer(429, "RESOURCE_EXHAUSTED", "", &per_day("quota_limit", "ListAssetsRequestsPerDayPerOrg")),
        answer(429, "RESOURCE_EXHAUSTED", "", &per_day("quota_unit", "1/d/{project}")),
        answer(429, "RESOURCE_EXHAUSTED", "", &per_day("quota_limit", "CLIENT_PROJECT-1d")),
        answer(429, "RESOURCE_EXHAUSTED", "", &failure("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "")),
        answer(429, "RESOURCE_EXHAUSTED", "", &failure("", "Daily limit for this project was reached.")),
        answer(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Weather API'.", weather),
        older(403, "Daily Limit Exceeded", "dailyLimitExceeded"),
        older(403, "Daily Limit for Unauthenticated Use Exceeded.", "dailyLimitExceededUnreg"),
        answer(
            429,
            "RESOURCE_EXHAUSTED",
            "Quota exceeded for quota metric 'Chat API requests' and limit 'Chat API requests per day per user' of \
             service 'x.googleapis.com' for consumer 'project_number:1'.",
            "[]",
        ),
        grpc(Code::ResourceExhausted, "", info("RATE_LIMIT_EXCEEDED", &[("quota_limit", "ExportsPerDayPerProject")])),
    ] {
        assert_eq!(class(&error), Class::Fatal, "{error:?}");
    }
}

#[test]
fn an_allocation_that_is_used_up_is_no_rate() {
    let info = r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_QUOTA_EXCEEDED","domain":"googleapis.com",
        "metadata":{"quota_metric":"compute.googleapis.com/vms","quota_limit":"VMsPerProject"}}]"#;
    for error in [
        answer(429, "RESOURCE_EXHAUSTED", "", info),
        older(403, "Quota 'CPUS' exceeded. Limit: 24.0 in region us-central1.", "quotaExceeded"),
        older(403, "Quota 'CPUS' exceeded.", "QUOTA_EXCEEDED"),
        answer(429, "RESOURCE_EXHAUSTED", "Quota limit 'HighScaleSSDStorageGibPerRegion' has been exceeded.", "[]"),
        grpc(
            Code::ResourceExhausted,
            "Quota limit 'HighScaleSSDStorageGibPerRegion' has been exceeded.",
            ErrorDetails::new(),
        ),
    ] {
        assert_eq!(class(&error), Class::Fatal, "{error:?}");
    }
    let rate = answer(429, "RESOURCE_EXHAUSTED", "Quota limit 'ReadRequests' has been exceeded.", "[]");
    assert_eq!(class(&rate), Class::Throttled, "what counts calls may well be a rate");
}

#[test]
fn a_limit_of_nothing_means_that_the_project_was_not_let_in() {
    let details = READS_PER_MINUTE.replace(r#""1200""#, r#""0""#);
    let error = answer(429, "RESOURCE_EXHAUSTED", "Quota exceeded", &details);
    assert_eq!(class(&error), Class::Fatal);
    assert_eq!(Told::of(&error).limit, None);
}

#[test]
fn a_reason_that_a_service_means_otherwise_can_be_set_right() {
    let error = older(403, "Quota exceeded", "quotaExceeded");
    let told = Told::of(&error);
    let rule = Rule::when().provider("gcp").service("drive").reason("quotaExceeded").then(Class::Throttled).unwrap();
    let rules = Rules::from_iter([rule]);
    let drive = Scope::new("gcp", "*", "", "drive");
    assert_eq!(rules.classify(&told.facts.clone().in_scope(&drive)).class, Class::Throttled);
    assert_eq!(rules.classify(&told.facts).class, Class::Fatal);
}

// ===== waits, and answers that leave it open =====

#[test]
fn a_retry_info_is_honoured_on_either_transport() {
    let wait = Duration::from_millis(12_500);
    let details = r#"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.500s"}]"#;
    for error in [
        answer(429, "RESOURCE_EXHAUSTED", EXHAUSTED, details),
        grpc(Code::ResourceExhausted, EXHAUSTED, ErrorDetails::with_retry_info(Some(wait))),
    ] {
        let verdict = verdict(&error);
        assert_eq!((verdict.class, verdict.resend, verdict.pays_budget), (Class::Throttled, Resend::Safe, false));
        assert_eq!(verdict.retry_after, Some(wait));
    }
    let unavailable = grpc(Code::Unavailable, "", ErrorDetails::with_retry_info(Some(wait)));
    assert_eq!(verdict(&unavailable).retry_after, Some(wait));
}

#[test]
fn a_retry_after_header_is_honoured_and_a_date_goes_by_the_servers_clock() {
    let error = http(503, &[("retry-after", "7")], r#"{"error":{"code":503,"message":"","status":"UNAVAILABLE"}}"#);
    assert_eq!(verdict(&error).retry_after, Some(Duration::from_secs(7)));
    let headers = [("date", "Tue, 01 Jan 2030 00:00:00 GMT"), ("retry-after", "Tue, 01 Jan 2030 00:00:30 GMT")];
    assert_eq!(verdict(&http(429, &headers, "{}")).retry_after, Some(Duration::from_secs(30)));
    let mut status = tonic::Status::unavailable("");
    status.metadata_mut().insert("retry-after", "3".parse().unwrap());
    assert_eq!(verdict(&to_gax_error(status)).retry_after, Some(Duration::from_secs(3)));
}

#[test]
fn exhaustion_without_a_reason_always_pays_the_budget() {
    for (error, resend) in [
        (answer(429, "RESOURCE_EXHAUSTED", EXHAUSTED, "[]"), Resend::Safe),
        (http(429, &[], "<html>Too Many Requests</html>"), Resend::Safe),
        (grpc(Code::ResourceExhausted, EXHAUSTED, ErrorDetails::new()), Resend::IfIdempotent),
    ] {
        let verdict = verdict(&error);
        assert_eq!((verdict.class, verdict.resend, verdict.pays_budget), (Class::Throttled, resend, true), "{error:?}");
    }
}

// ===== failures that pass, and those that do not =====

#[test]
fn failures_that_pass_are_sent_again_only_where_that_does_no_harm() {
    let transient = (Class::Transient, Resend::IfIdempotent);
    for error in [
        answer(503, "UNAVAILABLE", "", "[]"),
        answer(504, "DEADLINE_EXCEEDED", "", "[]"),
        http(408, &[], ""),
        http(500, &[], "{}"),
        http(502, &[], "<html>Bad Gateway</html>"),
        http(504, &[], ""),
        grpc(Code::Unavailable, "", ErrorDetails::new()),
        grpc(Code::DeadlineExceeded, "", ErrorDetails::new()),
    ] {
        assert_eq!(judged(&error), transient, "{error:?}");
    }
}

#[test]
fn a_503_of_unknown_status_is_sent_again_too() {
    let error = http(503, &[], r#"{"error":{"code":503,"message":"x","status":"SOMETHING_NEW"}}"#);
    assert_eq!(judged(&error), (Class::Throttled, Resend::IfIdempotent));
}

#[test]
fn storage_alone_passes_its_internal_errors_off_as_passing() {
    let error = grpc(Code::Internal, "", ErrorDetails::new());
    assert_eq!(verdict_in("storage", &error).class, Class::Transient);
    assert_eq!(verdict_in("cloudasset", &error).class, Class::Fatal);
}

#[test]
fn what_the_caller_did_wrong_is_fatal() {
    for (code, status) in [
        (400, "INVALID_ARGUMENT"),
        (400, "FAILED_PRECONDITION"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (409, "ALREADY_EXISTS"),
        (409, "ABORTED"),
        (412, "CONDITION_NOT_MET"),
    ] {
        assert_eq!(class(&answer(code, status, "", "[]")), Class::Fatal, "{status}");
    }
    assert_eq!(class(&grpc(Code::Aborted, "", ErrorDetails::new())), Class::Fatal);
    let disabled = r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED","domain":"googleapis.com",
        "metadata":{"consumer":"projects/1234567890","service":"accesscontextmanager.googleapis.com"}}]"#;
    assert_eq!(class(&answer(403, "PERMISSION_DENIED", "requires a quota project", disabled)), Class::Fatal);
}

// ===== answers that the client could not parse =====

#[test]
fn an_answer_that_the_client_could_not_parse_is_read_all_the_same() {
    let odd_code = format!(
        r#"{{"error":{{"code":"429","message":"m","status":"RESOURCE_EXHAUSTED","details":{READS_PER_MINUTE}}}}}"#
    );
    let error = http(429, &[], &odd_code);
    assert!(error.http_payload().is_some());
    let told = Told::of(&error);
    assert_eq!(told.consumer.as_deref(), Some("projects/12345678910"));
    assert_eq!(told.limit.map(|limit| (limit.calls, limit.per)), Some((1200, Duration::from_secs(60))));
    assert_eq!(judged(&error), (Class::Throttled, Resend::Safe));

    for (body, class_is) in [
        (r#"{"error":{"code":"403","errors":[{"reason":"rateLimitExceeded"}]}}"#, Class::Throttled),
        (r#"{"error":{"code":"403","errors":[{"reason":"dailyLimitExceeded"}]}}"#, Class::Fatal),
        (r#"{"error":{"code":"403","message":"Rate Limit Exceeded"}}"#, Class::Throttled),
        (
            r#"{"error":{"code":"403","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure",
            "violations":[{"quotaId":"XPerDay"}]}]}}"#,
            Class::Fatal,
        ),
        ("Rate exceeded.", Class::Throttled),
        ("", Class::Fatal),
    ] {
        let error = http(403, &[], body);
        assert!(error.http_payload().is_some(), "{body}");
        assert_eq!(class(&error), class_is, "{body}");
    }
    let body = r#"{"error":{"code":"429","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}"#;
    assert_eq!(verdict(&http(429, &[], body)).retry_after, Some(Duration::from_millis(1500)));
}

#[test]
fn of_an_answer_in_an_array_the_client_leaves_the_status_alone() {
    let error = http(429, &[], &format!(r#"[{{"error":{{"code":429,"message":"m","details":{READS_PER_MINUTE}}}}}]"#));
    assert!(error.http_payload().is_none() && error.status().unwrap().details.is_empty());
    let verdict = verdict(&error);
    assert_eq!((verdict.class, verdict.pays_budget), (Class::Throttled, true));
}

#[test]
fn only_the_start_of_a_long_answer_is_looked_at() {
    let padding = "x".repeat(100_000);
    let body =
        format!(r#"{{"error":{{"code":"403","message":"{padding}","errors":[{{"reason":"rateLimitExceeded"}}]}}}}"#);
    assert_eq!(class(&http(403, &[], &body)), Class::Fatal);
    assert_eq!(class(&http(403, &[], &format!("{padding} rate exceeded"))), Class::Fatal);
}
