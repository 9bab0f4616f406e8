//! What rate-limited HTTP APIs other than the clouds' say.

use super::*;

/// A GitHub answer: an hourly limit of 5,000 with so much left, that begins anew in half an hour.
fn github(status: u16, left: &'static str) -> Facts<'static> {
    let date = "Sun, 30 Nov 2025 10:53:20 GMT";
    let headers = [("date", date), ("x-ratelimit-remaining", left), ("x-ratelimit-reset", "1764501800")];
    Facts::new().provider("api.github.com").status(status).headers(headers)
}

#[test]
fn a_403_is_a_rate_where_a_limit_is_used_up_or_a_wait_is_said() {
    let half_an_hour = safe(Class::Throttled).with_retry_after(Duration::from_secs(1_800));
    assert_eq!(verdict(github(403, "0")), half_an_hour);
    assert_eq!(verdict(github(429, "0")), half_an_hour);
    let seven = safe(Class::Throttled).with_retry_after(Duration::from_secs(7));
    assert_eq!(verdict(github(403, "4990").header("retry-after", "7")), seven);
    let without_reset = Facts::new().provider("github").status(403).header("x-ratelimit-remaining", "0");
    assert_eq!(verdict(without_reset), safe(Class::Throttled));
}

#[test]
fn a_403_with_something_left_is_a_permission() {
    assert_eq!(verdict(github(403, "4990")), Classification::fatal());
    let bare = Facts::new().provider("api.github.com").status(403);
    assert_eq!(verdict(bare.clone()), Classification::fatal());
    // When a limit begins anew is said of one that is not used up as well.
    assert_eq!(verdict(bare.header("x-ratelimit-reset", "30")), Classification::fatal());
}

#[test]
fn githubs_secondary_limit_is_waited_for_a_minute_unless_it_says_how_long() {
    let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    for status in [403, 429] {
        let told = github(status, "4990").message(message);
        let minute = safe(Class::Throttled).with_retry_after(Duration::from_secs(60));
        assert_eq!(verdict(told.clone()), minute, "{status}");
        let told = told.header("retry-after", "90");
        assert_eq!(verdict(told), minute.with_retry_after(Duration::from_secs(90)), "{status}");
    }
    assert_eq!(verdict(github(404, "4990").message(message)), Classification::fatal());
}

#[test]
fn the_clouds_403_stays_a_refusal_whatever_its_headers_say() {
    for provider in ["aws", "azure", "gcp", "GCP"] {
        for (name, value) in [("retry-after", "7"), ("x-ratelimit-remaining", "0"), ("ratelimit", r#""a";r=0;t=5"#)] {
            let facts = Facts::new().provider(provider).status(403).header(name, value);
            assert_eq!(verdict(facts), Classification::fatal(), "{provider} {name}");
        }
    }
}

#[test]
fn a_limit_that_is_used_up_makes_no_failure_of_another_kind_a_rate() {
    for status in [400, 401, 404, 409, 422] {
        assert_eq!(verdict(github(status, "0")), Classification::fatal(), "{status}");
    }
    // But there is no use in coming back before.
    let until = if_idempotent(Class::Transient).with_retry_after(Duration::from_secs(1_800));
    assert_eq!(verdict(github(502, "0")), until);
}

#[test]
fn gitlabs_cloudflares_and_the_drafts_429_are_waited_for_until_the_reset() {
    let answer = |headers: &[(&'static str, &'static str)]| {
        let facts = Facts::new().provider("gitlab.example").status(429);
        verdict(facts.header("date", "Sun, 30 Nov 2025 10:53:20 GMT").headers(headers.iter().copied()))
    };
    let minute = safe(Class::Throttled).with_retry_after(Duration::from_secs(60));
    assert_eq!(answer(&[("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1764500060")]), minute);
    assert_eq!(answer(&[("Ratelimit", r#""default";r=0;t=60"#)]), minute);
    assert_eq!(answer(&[("ratelimit-reset", "60")]), minute);
}
