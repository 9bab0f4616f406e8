//! Google's answers, by the facts that a plugin finds in real ones.

use std::time::SystemTime;

use super::*;

fn gcp() -> Facts<'static> {
    Facts::new().provider("gcp")
}

#[test]
fn daily_and_allocation_quotas_are_fatal() {
    for reason in ["quotaExceeded", "QUOTA_EXCEEDED", "dailyLimitExceeded", "RESOURCE_QUOTA_EXCEEDED"] {
        for status in [403, 429] {
            assert_eq!(verdict(gcp().status(status).reason(reason)), Classification::fatal(), "{reason} {status}");
        }
    }
    let rate = || gcp().status(429).reason("RATE_LIMIT_EXCEEDED").grpc(GrpcCode::ResourceExhausted);
    assert_eq!(
        verdict(rate().quota("ListAssetsRequestsPerMinutePerProject").quota("1/min/{project}")).class,
        Class::Throttled
    );
    assert_eq!(verdict(rate().quota("ListAssetsRequestsPerDayPerOrg")), Classification::fatal());
    assert_eq!(verdict(rate().quota("ListAssets").quota("1/d/{organization}")), Classification::fatal());
    let message = "Quota exceeded for quota metric 'Exports' and limit 'Exports per day' of service";
    assert_eq!(verdict(gcp().grpc(GrpcCode::ResourceExhausted).message(message)), Classification::fatal());
}

#[test]
fn a_bare_resource_exhausted_is_throttled_pays_the_budget_and_backs_off_for_long() {
    let bare =
        verdict(gcp().grpc_status("RESOURCE_EXHAUSTED").message("Resource has been exhausted (e.g. check quota)."));
    let ambiguous = |verdict: Classification| verdict.with_pays_budget(true).with_least_backoff(Duration::from_secs(5));
    assert_eq!(bare, ambiguous(if_idempotent(Class::Throttled)));
    assert_eq!(verdict(gcp().status(429).grpc_status("8")), ambiguous(safe(Class::Throttled)));
}

#[test]
fn a_delay_or_a_reason_makes_resource_exhausted_a_plain_throttle() {
    let told = verdict(gcp().grpc_status("8").retry_info_text("3.5s"));
    assert_eq!(told, safe(Class::Throttled).with_retry_after(Duration::from_millis(3_500)));
    assert_eq!(verdict(gcp().grpc_status("8").reason("RATE_LIMIT_EXCEEDED")), safe(Class::Throttled));
}

#[test]
fn grpc_statuses_have_their_classes() {
    let of = |code| verdict(gcp().grpc(code));
    assert_eq!(of(GrpcCode::Unavailable), if_idempotent(Class::Transient));
    assert_eq!(of(GrpcCode::DeadlineExceeded), if_idempotent(Class::Transient));
    for code in
        [GrpcCode::Aborted, GrpcCode::Internal, GrpcCode::Unknown, GrpcCode::PermissionDenied, GrpcCode::Cancelled]
    {
        assert_eq!(of(code), Classification::fatal(), "{code:?}");
    }
    assert_eq!(verdict(gcp().service("storage").grpc(GrpcCode::Internal)), if_idempotent(Class::Transient));
    assert_eq!(verdict(gcp().status(503).grpc(GrpcCode::Unavailable)), if_idempotent(Class::Transient));
    assert_eq!(verdict(gcp().status(503).grpc(GrpcCode::Unknown)), if_idempotent(Class::Throttled));
    let too_large = gcp().grpc(GrpcCode::ResourceExhausted).message("received message larger than max (5 vs. 4)");
    assert_eq!(verdict(too_large), Classification::fatal());
}

// ===== real answers =====

/// The metadata of an ErrorInfo and the message that goes with it, as
/// github.com/GoogleCloudPlatform/marketing-analytics-jumpstart/issues/163 has them.
fn service_usage(limit: &'static str, quota: &'static str) -> Facts<'static> {
    let message = format!(
        "Quota exceeded for quota metric 'Read requests' and limit '{limit}' of service \
         'cloudresourcemanager.googleapis.com' for consumer 'project_number:764086051850'."
    );
    gcp().service("cloudresourcemanager").message(message).quota(quota)
}

#[test]
fn a_rate_quota_that_names_itself_is_throttled() {
    let per_minute = || service_usage("Read requests per minute", "ReadRequestsPerMinutePerProject");
    let http = per_minute().status(429).grpc_status("RESOURCE_EXHAUSTED").reason("RATE_LIMIT_EXCEEDED");
    assert_eq!(verdict(http), safe(Class::Throttled));
    assert_eq!(verdict(per_minute().grpc_status("8").reason("RATE_LIMIT_EXCEEDED")), safe(Class::Throttled));
    let told = per_minute().grpc_status("8").reason("RATE_LIMIT_EXCEEDED").retry_info_text("31.5s");
    assert_eq!(verdict(told), safe(Class::Throttled).with_retry_after(Duration::from_millis(31_500)));
}

#[test]
fn every_rate_reason_is_throttled_whatever_the_status() {
    for reason in ["RATE_LIMIT_EXCEEDED", "rateLimitExceeded", "userRateLimitExceeded", "userRateLimitExceededUnreg"] {
        for status in [403, 429] {
            let facts = gcp().service("drive").status(status).reason(reason).message("User Rate Limit Exceeded");
            assert_eq!(verdict(facts), safe(Class::Throttled), "{reason} {status}");
        }
    }
}

#[test]
fn every_quota_of_a_day_is_fatal_wherever_it_says_so() {
    let rate = || gcp().service("cloudasset").status(429).grpc_status("8").reason("RATE_LIMIT_EXCEEDED");
    for facts in [
        rate().quota("ExportAssetsRequestsPerDayPerProject"),
        rate().quota("1/d/{project}"),
        rate().message("Quota exceeded for quota metric 'Export' and limit 'Export requests per day' of service 'x'."),
        // A QuotaFailure's id, as generativelanguage.googleapis.com has it, beside one of the minute.
        rate().quota("GenerateRequestsPerMinutePerProject").quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        gcp().status(403).reason("dailyLimitExceeded").message("Daily Limit Exceeded. Please sign up"),
        gcp().status(403).reason("dailyLimitExceededUnreg"),
        gcp().status(403).reason("variableTermExpiredDailyExceeded"),
        gcp().status(403).grpc(GrpcCode::Unknown).message("Daily Limit Exceeded"),
    ] {
        assert_eq!(verdict(facts.clone()), Classification::fatal(), "{facts:?}");
    }
}

#[test]
fn an_allocation_quota_is_fatal_and_one_that_is_named_per_minute_is_not() {
    let cpus = "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.";
    for facts in [
        gcp().service("compute").status(403).reason("quotaExceeded").message(cpus),
        gcp().service("compute").status(403).reason("QUOTA_EXCEEDED").message(cpus),
        gcp().service("compute").status(403).grpc(GrpcCode::Unknown).message(cpus),
        gcp().service("pubsub").status(429).grpc_status("8").reason("RESOURCE_QUOTA_EXCEEDED"),
    ] {
        assert_eq!(verdict(facts.clone()), Classification::fatal(), "{facts:?}");
    }
    let short_term = gcp().service("analytics").status(403).reason("quotaExceeded");
    assert_eq!(verdict(short_term.clone().quota("1/min/{project}/{user}")), safe(Class::Throttled));
    let group = "Quota exceeded for quota group 'default' and limit 'Queries per 100 seconds' of service 'x'.";
    assert_eq!(verdict(short_term.message(group)), safe(Class::Throttled));
}

#[test]
fn a_403_whose_reason_was_lost_is_known_by_its_message() {
    let lost = |message| gcp().service("cloudkms").status(403).grpc(GrpcCode::Unknown).message(message);
    assert_eq!(verdict(lost("Rate Limit Exceeded")), safe(Class::Throttled));
    let named =
        "Quota exceeded for quota metric 'Write requests' and limit 'WriteRequestsPerMinutePerProject' of service";
    assert_eq!(verdict(lost(named)), safe(Class::Throttled));
    for other in [
        "Required 'compute.instances.list' permission for 'projects/requests-per-minute'",
        "Cloud Asset API has not been used in project 123 before or it is disabled.",
        "Quota exceeded for quota metric 'Roles' and limit 'Roles of a project' of service 'iam.googleapis.com'",
    ] {
        assert_eq!(verdict(lost(other)), Classification::fatal(), "{other}");
    }
}

#[test]
fn an_unknown_status_is_judged_by_the_http_status() {
    let unknown = |status| verdict(gcp().service("storage").status(status).grpc(GrpcCode::Unknown));
    assert_eq!(unknown(503), if_idempotent(Class::Throttled));
    for status in [408, 500, 502, 504] {
        assert_eq!(unknown(status), if_idempotent(Class::Transient), "{status}");
    }
    assert_eq!(unknown(429).class, Class::Throttled);
    assert_eq!(unknown(400), Classification::fatal());
}

#[test]
fn an_internal_error_without_a_status_is_transient_for_storage_alone() {
    let internal = |service| verdict(gcp().service(service).grpc(GrpcCode::Internal));
    assert_eq!(internal("storage"), if_idempotent(Class::Transient));
    assert_eq!(internal("cloudasset"), Classification::fatal());
}

#[test]
fn what_pub_sub_s_own_clients_send_again_is_transient_for_it_alone() {
    for code in [GrpcCode::Aborted, GrpcCode::Internal, GrpcCode::Unknown] {
        assert_eq!(verdict(gcp().service("pubsub").grpc(code)), if_idempotent(Class::Transient), "{code:?}");
        assert_eq!(verdict(gcp().service("pubsublite").grpc(code)), Classification::fatal(), "{code:?}");
    }
    assert_eq!(verdict(gcp().service("pubsub").grpc(GrpcCode::NotFound)), Classification::fatal());
}

// ===== Compute's minute =====

fn clock(seconds: u64) -> SystemTime {
    // A full minute.
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_020 + seconds)
}

fn compute() -> Facts<'static> {
    gcp().service("compute").status(403).grpc(GrpcCode::Unknown)
}

#[test]
fn computes_rate_quotas_come_back_at_the_next_full_minute_of_the_servers_clock() {
    let answered = |facts: Facts<'static>, seconds| {
        let date = httpdate::fmt_http_date(clock(seconds));
        verdict(facts.header("date", date).received_at(clock(7_777))).retry_after.map(|wait| wait.as_secs())
    };
    for facts in [
        compute().reason("rateLimitExceeded"),
        compute().reason("RATE_LIMIT_EXCEEDED"),
        compute().code("rateLimitExceeded"),
        compute().message("Rate Limit Exceeded"),
        compute().quota("ReadRequestsPerMinutePerProject"),
        compute().message("Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service 'x'."),
    ] {
        assert_eq!(answered(facts.clone(), 15), Some(45), "{facts:?}");
        assert_eq!(verdict(facts).class, Class::Throttled);
    }
    let told = |seconds| answered(compute().reason("rateLimitExceeded"), seconds);
    assert_eq!(
        [1, 30, 59, 60, 61].map(told),
        [59, 30, 1, 1, 59].map(Some),
        "in its first second: of the minute before"
    );
}

#[test]
fn without_a_date_the_clients_clock_says_when_the_minute_ends() {
    let at = |seconds| {
        let facts = compute().reason("rateLimitExceeded").received_at(clock(seconds) + Duration::from_millis(250));
        verdict(facts).retry_after
    };
    assert_eq!(at(15), Some(Duration::from_millis(44_750)));
    assert_eq!([at(59), at(60)], [Some(Duration::from_secs(1)); 2]);
}

#[test]
fn a_wait_that_compute_asks_for_goes_before_the_minutes_end() {
    let facts = || compute().reason("rateLimitExceeded").header("date", httpdate::fmt_http_date(clock(15)));
    assert_eq!(verdict(facts().retry_info_text("3s")).retry_after, Some(Duration::from_secs(3)));
    assert_eq!(verdict(facts().header("retry-after", "90")).retry_after, Some(Duration::from_secs(90)));
}

#[test]
fn no_other_answer_is_waited_for_until_the_minutes_end() {
    let dated = |facts: Facts<'static>| verdict(facts.header("date", httpdate::fmt_http_date(clock(15)))).retry_after;
    let rate = |service| gcp().service(service).status(403).reason("rateLimitExceeded");
    assert_eq!(dated(rate("drive")), None);
    assert_eq!(dated(gcp().status(403).reason("rateLimitExceeded")), None, "an unknown service");
    assert_eq!(dated(rate("compute").provider("azure")), None);
    assert_eq!(dated(compute().reason("quotaExceeded")), None);
    assert_eq!(dated(gcp().service("compute").status(503)), None);
}

proptest! {
    #[test]
    fn the_next_full_minute_is_a_second_to_a_minute_away_whatever_the_clocks_say(
        date in prop::option::of(0_u64..253_402_300_799),
        received in any::<u64>(),
        nanos in 0_u32..1_000_000_000,
    ) {
        let received = SystemTime::UNIX_EPOCH.checked_add(Duration::new(received >> 1, nanos)).unwrap_or(SystemTime::UNIX_EPOCH);
        let facts = compute().reason("rateLimitExceeded").received_at(received);
        let facts = match date {
            Some(date) => facts.header("date", httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(date))),
            None => facts,
        };
        let wait = verdict(facts).retry_after.unwrap();
        prop_assert!((Duration::from_secs(1)..Duration::from_secs(60)).contains(&wait), "{wait:?}");
        if let Some(date) = date.filter(|date| date % 60 > 0) {
            prop_assert_eq!((date + wait.as_secs()) % 60, 0);
        }
    }
}
