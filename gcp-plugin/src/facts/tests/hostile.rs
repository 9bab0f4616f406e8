use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SECRET: &str = "ya29.a0AfB_byC-SECRET";

/// Any JSON, with the keys that are looked for in any place.
fn json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ".{0,20}".prop_map(String::from),
        Just(SECRET.to_owned()),
        Just(format!("Quota exceeded for quota metric '{SECRET}' and limit '{SECRET} per day'")),
        Just(format!("projects/{SECRET} ")),
        Just("type.googleapis.com/google.rpc.ErrorInfo".to_owned()),
        Just("type.googleapis.com/google.rpc.RetryInfo".to_owned()),
        Just("type.googleapis.com/google.rpc.QuotaFailure".to_owned()),
    ];
    let key = proptest::sample::select(vec![
        "error",
        "errors",
        "details",
        "message",
        "status",
        "code",
        "reason",
        "@type",
        "metadata",
        "violations",
        "quotaId",
        "description",
        "quota_limit",
        "quota_unit",
        "quota_limit_value",
        "retryDelay",
        "domain",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn shows_no_secret(error: &Error) -> Result<(), TestCaseError> {
    let told = Told::of(error);
    let shown = format!("{told:?}");
    prop_assert!(!shown.contains("SECRET"), "{shown}");
    let _ = Rules::new().classify(&told.facts);
    Ok(())
}

#[test]
fn what_an_answer_quotes_is_not_shown() {
    let detail = json!([
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": SECRET, "domain": SECRET, "metadata": {
            "quota_limit": SECRET, "quota_unit": SECRET, "quota_limit_value": SECRET, "consumer": format!("projects/{SECRET}") } },
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          "violations": [{ "quotaId": SECRET, "description": format!("{SECRET} per day") }] },
    ]);
    let whole =
        json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": SECRET, "details": detail } });
    for body in [whole.to_string(), json!([whole]).to_string(), SECRET.to_owned()] {
        shows_no_secret(&http(429, &[("x-goog-user-project", SECRET), ("retry-after", SECRET)], &body)).unwrap();
    }
    shows_no_secret(&Error::io(SECRET)).unwrap();
    shows_no_secret(&grpc(tonic::Code::Unknown, SECRET, ErrorDetails::new())).unwrap();
}

proptest! {
    #[test]
    fn any_error_in_json_is_read_without_a_panic_and_shows_no_secret(status in 100_u16..1000, error in json(), wrap in any::<bool>()) {
        let body = if wrap { json!({ "error": error }) } else { error };
        shows_no_secret(&http(status, &[], &body.to_string()))?;
        shows_no_secret(&http(status, &[], &json!([body]).to_string()))?;
    }

    #[test]
    fn any_answer_is_read_without_a_panic(
        status in 100_u16..1000,
        body in proptest::collection::vec(any::<u8>(), 0..300),
        wait in "[ -~]{0,30}",
    ) {
        let headers: HeaderMap = [(http::header::RETRY_AFTER, HeaderValue::from_bytes(wait.as_bytes()).unwrap())].into_iter().collect();
        let told = Told::of(&Error::http(status, headers, body.into()));
        prop_assert!(told.limit.is_none_or(|limit| limit.calls > 0));
    }

    #[test]
    fn any_message_is_read_without_a_panic(message in "(Quota exceeded for quota |Quota limit ')?.{0,60}( and limit '.{0,20}'?)?( has been exceeded)?( for consumer 'project_number:.{0,20}'?)?") {
        let told = Told::of(&grpc(tonic::Code::ResourceExhausted, &message, ErrorDetails::new()));
        prop_assert!(told.consumer.is_none_or(|consumer| consumer.starts_with("projects/")));
    }
}
