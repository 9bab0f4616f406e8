mod google;
mod http_apis;

use super::*;
use proptest::prelude::*;

fn verdict(facts: Facts<'_>) -> Classification {
    Rules::new().classify(&facts)
}

fn aws(code: &str, status: u16) -> Classification {
    verdict(Facts::new().provider("aws").code(code).status(status))
}

fn azure(code: &str, status: u16) -> Classification {
    verdict(Facts::new().provider("azure").code(code).status(status))
}

fn safe(class: Class) -> Classification {
    Classification::of(class).with_resend(Resend::Safe)
}

fn if_idempotent(class: Class) -> Classification {
    Classification::of(class).with_resend(Resend::IfIdempotent)
}

// ===== statuses =====

#[test]
fn a_bare_429_is_throttled_and_was_not_executed() {
    for facts in [Facts::new(), Facts::new().provider("aws"), Facts::new().provider("azure"), Facts::new().message("")]
    {
        assert_eq!(verdict(facts.status(429)), safe(Class::Throttled));
    }
}

#[test]
fn a_bare_503_is_throttled_but_may_have_been_executed() {
    assert_eq!(verdict(Facts::new().status(503)), if_idempotent(Class::Throttled));
}

#[test]
fn a_machines_identity_endpoint_that_is_being_updated_comes_back() {
    for status in [404, 410] {
        let facts = |service| Facts::new().provider("azure").service(service).status(status);
        assert_eq!(verdict(facts("imds")), if_idempotent(Class::Transient));
        assert_eq!(verdict(facts("identity")).class, Class::Fatal);
    }
}

#[test]
fn an_outage_that_aws_names_lowers_no_rate_unless_its_message_asks_for_it() {
    for code in ["ServiceUnavailable", "ServiceUnavailableException"] {
        assert_eq!(aws(code, 503), if_idempotent(Class::Transient));
        let slow = Facts::new().provider("aws").code(code).status(503).message("Please reduce your request rate.");
        assert_eq!(verdict(slow), safe(Class::Throttled));
    }
    assert_eq!(aws("Unavailable", 503), if_idempotent(Class::Throttled));
}

#[test]
fn a_cancelled_transaction_is_throttled_if_throttles_alone_cancelled_it() {
    let cancelled = |reasons: &str| {
        let message =
            format!("Transaction cancelled, please refer cancellation reasons for specific reasons [{reasons}]");
        verdict(Facts::new().provider("aws").code("TransactionCanceledException").status(400).message(message))
    };
    for reasons in ["None, ThrottlingError", "ProvisionedThroughputExceeded", "ThrottlingError, ThrottlingError"] {
        assert_eq!(cancelled(reasons), safe(Class::Throttled), "{reasons}");
    }
    for reasons in ["ConditionalCheckFailed, ThrottlingError", "TransactionConflict", "None, DuplicateItem", "None"] {
        assert_eq!(cancelled(reasons), Classification::fatal(), "{reasons}");
    }
}

#[test]
fn passing_server_errors_are_transient() {
    for status in [408, 500, 502, 504] {
        assert_eq!(verdict(Facts::new().status(status)), if_idempotent(Class::Transient), "{status}");
    }
}

#[test]
fn what_no_rule_knows_is_fatal() {
    assert_eq!(verdict(Facts::new()), Classification::fatal());
    for status in [200, 301, 400, 401, 403, 404, 409, 418, 422, 501, 505] {
        assert_eq!(verdict(Facts::new().status(status)), Classification::fatal(), "{status}");
    }
}

#[test]
fn an_unknown_code_falls_to_the_status() {
    assert_eq!(aws("Whatever", 429), safe(Class::Throttled));
    assert_eq!(aws("Whatever", 503), if_idempotent(Class::Throttled));
    assert_eq!(aws("Whatever", 500), if_idempotent(Class::Transient));
    assert_eq!(aws("Whatever", 400), Classification::fatal());
    // What Azure's SDK takes for a code where the answer has none.
    assert_eq!(azure("Too Many Requests", 429), safe(Class::Throttled));
}

// ===== AWS =====

#[test]
fn route_53_throttles_with_400() {
    let facts = Facts::new().provider("aws").service("route53").code("Throttling").status(400).message("Rate exceeded");
    assert_eq!(verdict(facts), safe(Class::Throttled));
}

#[test]
fn every_throttling_code_of_the_sdk_is_throttled_with_any_status() {
    // THROTTLING_ERRORS of aws-runtime 1.10 but LimitExceededException, which has a test of its own.
    let codes = [
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottledException",
        "TooManyRequestsException",
        "ProvisionedThroughputExceededException",
        "TransactionInProgressException",
        "RequestLimitExceeded",
        "BandwidthLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "PriorRequestNotComplete",
        "EC2ThrottledException",
    ];
    for code in codes {
        for status in [200, 400, 403, 429, 500, 503] {
            assert_eq!(aws(code, status), safe(Class::Throttled), "{code} {status}");
        }
        let sent = format!("com.amazonaws.foo#{code}:http://example.com/");
        assert_eq!(aws(&sent, 400), safe(Class::Throttled), "{sent}");
    }
}

#[test]
fn every_transient_code_of_the_sdk_is_transient() {
    for code in ["RequestTimeout", "RequestTimeoutException"] {
        assert_eq!(aws(code, 400), if_idempotent(Class::Transient), "{code}");
    }
}

#[test]
fn limit_exceeded_is_an_allocation_limit_unless_it_says_that_it_is_a_rate() {
    let limit = || Facts::new().provider("aws").code("LimitExceededException");
    assert_eq!(verdict(limit().status(400)), Classification::fatal());
    assert_eq!(verdict(limit().status(400).message("Too many hosted zones")), Classification::fatal());
    assert_eq!(verdict(limit().status(429)), safe(Class::Throttled));
    assert_eq!(verdict(limit().status(400).message("Rate exceeded for stream s")), safe(Class::Throttled));
}

#[test]
fn a_daily_mail_quota_is_fatal_though_its_code_says_throttling() {
    let mail = |message| verdict(Facts::new().provider("aws").code("Throttling").status(400).message(message));
    assert_eq!(mail("Daily message quota exceeded."), Classification::fatal());
    assert_eq!(mail("Maximum sending rate exceeded."), safe(Class::Throttled));
}

#[test]
fn an_error_body_under_a_200_is_still_an_error() {
    assert_eq!(aws("InternalError", 200), if_idempotent(Class::Transient));
    assert_eq!(aws("SlowDown", 200), safe(Class::Throttled));
}

#[test]
fn credentials_signatures_and_clocks_are_not_ours_to_retry() {
    for code in
        ["ExpiredToken", "ExpiredTokenException", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "AuthFailure"]
    {
        assert_eq!(aws(code, 400), Classification::fatal(), "{code}");
        assert_eq!(aws(code, 403), Classification::fatal(), "{code}");
    }
}

#[test]
fn a_name_in_a_refusal_is_no_throttle() {
    let refused = Facts::new()
        .provider("aws")
        .code("ResourceNotFoundException")
        .status(400)
        .message("Requested resource not found: Table: throttle-state not found");
    assert_eq!(verdict(refused), Classification::fatal());
    let denied = Facts::new().status(403).message("user throttler is not authorized");
    assert_eq!(verdict(denied), Classification::fatal());
    let missing = Facts::new().status(404).message("no metric named too many requests");
    assert_eq!(verdict(missing), Classification::fatal());
}

#[test]
fn codes_of_one_provider_mean_nothing_to_another() {
    let facts = Facts::new().provider("github").code("SlowDown").status(400);
    assert_eq!(verdict(facts), Classification::fatal());
}

// ===== Azure =====

#[test]
fn azures_429_lock_is_locked_and_not_throttled() {
    let lock = azure("RetryableErrorDueToAnotherOperation", 429);
    assert_eq!(lock, safe(Class::Locked));
    assert_eq!(azure("ReferencedResourceNotProvisioned", 429), safe(Class::Locked));
    assert_eq!(azure("RetryableError", 429), safe(Class::Locked));
}

#[test]
fn azures_409_locks_are_opt_in() {
    let opted = Rules::from_iter([Rule::azure_conflict_locks()]);
    for code in
        ["AnotherOperationInProgress", "ConflictingConcurrentWriteNotAllowed", "StorageAccountOperationInProgress"]
    {
        assert_eq!(azure(code, 409), Classification::fatal(), "{code}");
        let facts = Facts::new().provider("azure").code(code).status(409);
        assert_eq!(opted.classify(&facts), safe(Class::Locked), "{code}");
    }
}

#[test]
fn azures_operation_not_allowed_is_a_rate_only_with_429() {
    assert_eq!(azure("OperationNotAllowed", 429), safe(Class::Throttled));
    for status in [400, 403, 409] {
        assert_eq!(azure("OperationNotAllowed", status), Classification::fatal(), "{status}");
    }
}

#[test]
fn azures_throttling_codes_are_throttled_without_regard_to_case() {
    for (code, status) in [
        ("SubscriptionRequestsThrottled", 429),
        ("subscriptionrequeststhrottled", 429),
        ("TooManyRequests", 429),
        ("ServerBusy", 503),
        ("RateLimiting", 429),
    ] {
        assert_eq!(azure(code, status), safe(Class::Throttled), "{code}");
    }
}

#[test]
fn quotas_and_missing_capacity_are_fatal() {
    for code in ["QuotaExceeded", "ResourceQuotaExceeded", "SkuNotAvailable", "AllocationFailed"] {
        for status in [403, 409, 429] {
            assert_eq!(azure(code, status), Classification::fatal(), "{code} {status}");
        }
    }
}

/// What Microsoft's pages say of each code, and what an answer without one is taken for.
#[test]
fn every_code_of_azure_has_its_class() {
    let [throttled, locked] = &[Class::Throttled, Class::Locked].map(safe);
    let [soft, transient] = &[Class::Throttled, Class::Transient].map(if_idempotent);
    let fatal = &Classification::fatal();
    for (codes, statuses, expected) in [
        // Resource Manager, Compute, Graph, Resource Graph, Storage, Cosmos DB, Service Bus.
        (&["SubscriptionRequestsThrottled", "ResourceRequestsThrottled"][..], &[429][..], throttled),
        (&["ResourceCollectionRequestsThrottled", "OperationNotAllowed"], &[429], throttled),
        (&["TooManyRequests", "activityLimitReached"], &[429, 503, 400], throttled),
        (&["RateLimiting", "3200", "Whatever"], &[429], throttled),
        (&["ServerBusy", "server-busy", "50009"], &[503, 400], throttled),
        (&["OperationTimedOut"], &[500], soft),
        // What the SDK puts in place of a code that is missing is none.
        (&["Service Unavailable", "Whatever"], &[503], soft),
        (&["ServiceUnavailable", "ServerTimeout", "InternalServerError"], &[503, 500], transient),
        (&["InternalError", "GatewayTimeout", "Whatever"], &[500, 502, 504], transient),
        (&["OperationTimedOut"], &[504, 408], transient),
        (&["RetryableError", "ReferencedResourceNotProvisioned"], &[429], locked),
        (&["RetryableErrorDueToAnotherOperation"], &[429], locked),
        (&["AnotherOperationInProgress", "ConflictingConcurrentWriteNotAllowed"], &[409], fatal),
        (&["StorageAccountOperationInProgress", "RetryableError"], &[409], fatal),
        (&["QuotaExceeded", "ResourceQuotaExceeded"], &[400, 403, 409, 429], fatal),
        (&["OperationNotAllowed"], &[400, 403, 409], fatal),
        (&["SkuNotAvailable", "AllocationFailed", "ZonalAllocationFailed"], &[409, 200, 429], fatal),
        (&["AccountIsDisabled", "1028", "AuthorizationFailed"], &[403], fatal),
        (&["ServiceUnavailable", "InternalServerError"], &[400, 404, 409], fatal),
    ] {
        for code in codes {
            for &status in statuses {
                assert_eq!(azure(code, status), *expected, "{code} {status}");
            }
        }
    }
}

#[test]
fn an_outage_that_azure_names_lowers_no_rate_unless_its_message_asks_for_it() {
    let told =
        |message| verdict(Facts::new().provider("azure").code("ServiceUnavailable").status(503).message(message));
    assert_eq!(told("The service is unavailable now."), if_idempotent(Class::Transient));
    assert_eq!(told("The request is being throttled."), if_idempotent(Class::Throttled));
}

#[test]
fn a_wait_that_azure_asks_for_is_heeded_unless_the_answer_is_fatal() {
    let told = |code: &'static str, status| {
        let facts = Facts::new().provider("azure").code(code).status(status);
        verdict(facts.header("x-ms-retry-after-ms", "1500")).retry_after
    };
    let wait = Some(Duration::from_millis(1_500));
    for (code, status) in [
        ("SubscriptionRequestsThrottled", 429),
        ("OperationNotAllowed", 429),
        ("ServerBusy", 503),
        ("RetryableErrorDueToAnotherOperation", 429),
        ("ServiceUnavailable", 503),
    ] {
        assert_eq!(told(code, status), wait, "{code} {status}");
    }
    for (code, status) in [
        ("OperationNotAllowed", 409),
        ("AnotherOperationInProgress", 409),
        ("Conflict", 409),
        ("OperationNotAllowed", 403),
        ("QuotaExceeded", 429),
    ] {
        assert_eq!(told(code, status), None, "{code} {status}");
    }
}

// ===== messages and transports =====

#[test]
fn a_throttling_message_is_throttled_without_regard_to_case() {
    for message in ["RATE EXCEEDED", "Request was Throttled.", "sorry: Too Many Requests"] {
        let unknown = Facts::new().provider("aws").code("Unheard").status(400).message(message);
        assert_eq!(verdict(unknown), safe(Class::Throttled), "{message}");
        assert_eq!(verdict(Facts::new().message(message)), if_idempotent(Class::Throttled), "{message}");
        assert_eq!(verdict(Facts::new().status(500).message(message)), if_idempotent(Class::Throttled), "{message}");
    }
}

#[test]
fn a_failed_connect_is_safe_and_other_transport_failures_are_not() {
    assert_eq!(verdict(Facts::new().transport(Transport::Connect)), safe(Class::Transient));
    for transport in [Transport::Timeout, Transport::Io, Transport::BodyCutShort] {
        assert_eq!(verdict(Facts::new().transport(transport)), if_idempotent(Class::Transient), "{transport:?}");
        assert_eq!(verdict(Facts::new().status(200).transport(transport)), if_idempotent(Class::Transient));
        assert_eq!(verdict(Facts::new().status(429).transport(transport)), safe(Class::Throttled));
        assert_eq!(verdict(Facts::new().status(404).transport(transport)), Classification::fatal());
    }
}

// ===== the wait =====

#[test]
fn the_wait_goes_with_every_class_but_fatal() {
    let wait = Duration::from_secs(7);
    let asked = |facts: Facts<'static>| verdict(facts.header("retry-after", "7")).retry_after;
    assert_eq!(asked(Facts::new().status(429)), Some(wait));
    assert_eq!(asked(Facts::new().status(503)), Some(wait));
    assert_eq!(
        asked(Facts::new().status(429).provider("azure").code("RetryableErrorDueToAnotherOperation")),
        Some(wait)
    );
    assert_eq!(asked(Facts::new().status(409)), None);
}

#[test]
fn a_date_is_measured_from_when_the_answer_came() {
    let came = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:30 GMT").unwrap();
    let facts = Facts::new().status(503).received_at(came).header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(verdict(facts).retry_after, Some(Duration::from_secs(7)));
}

proptest! {
    #[test]
    fn no_facts_make_it_panic_or_ask_for_a_zero_wait(
        provider in "(aws|azure|gcp|other)",
        code in "\\PC{0,30}",
        status in any::<u16>(),
        reason in "\\PC{0,30}",
        message in "\\PC{0,200}",
        grpc in any::<i32>(),
        wait in any::<Vec<u8>>(),
    ) {
        let facts = Facts::new().provider(provider).code(code).status(status).reason(reason).message(message)
            .grpc_status(&grpc.to_string()).header("retry-after", wait);
        let verdict = verdict(facts);
        prop_assert_ne!(verdict.retry_after, Some(Duration::ZERO));
        prop_assert!(verdict.class != Class::Fatal || verdict.retry_after.is_none());
    }
}
