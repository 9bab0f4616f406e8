//! What may be sent again.

use crate::testing::{ACCOUNT, Asked, Bench, Step, Tokens, answered, fast, governor, no_connection};
use crate::{CallOptions, CallReport, call};
use cloud_governor::GiveUp;

#[tokio::test(start_paused = true)]
async fn a_mutation_that_may_have_been_executed_is_not_sent_again() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let report = CallReport::new();
    let error = call(
        CallOptions::new().report(&report),
        bench.play(Asked::of(ACCOUNT).mutation(), &[|| Err(answered(500)), || Ok(1)]),
    );
    assert_eq!(error.await.unwrap_err().http_status_code(), Some(500));
    assert_eq!(bench.sent(), 1);
    assert_eq!(report.gave_up(), Some(GiveUp::NotIdempotent));
}

#[tokio::test(start_paused = true)]
async fn a_mutation_that_never_left_or_was_throttled_is_sent_again() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let script: &[Step] = &[|| Err(no_connection()), || Err(answered(429)), || Ok(1)];
    bench.play(Asked::of(ACCOUNT).mutation(), script).await.unwrap();
    assert_eq!(bench.sent(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_or_a_client_may_say_otherwise() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let script: &[Step] = &[|| Err(answered(500)), || Ok(1)];
    call(CallOptions::new().idempotent(true), bench.play(Asked::of(ACCOUNT).mutation(), script)).await.unwrap();
    call(CallOptions::new().idempotent(false), bench.play(Asked::of(ACCOUNT), script)).await.unwrap_err();
    assert_eq!(bench.sent(), 3);

    let any = Bench::with(&governor, Tokens::default(), |client| client.resend_any = true);
    any.play(Asked::of(ACCOUNT).mutation(), script).await.unwrap();
    assert_eq!(any.sent(), 2);
    call(CallOptions::new().idempotent(false), any.play(Asked::of(ACCOUNT).mutation(), script)).await.unwrap_err();
    assert_eq!(any.sent(), 3, "the call has the last word");
}
