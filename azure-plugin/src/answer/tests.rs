use proptest::prelude::*;

use super::*;

fn named(body: &str) -> (Option<String>, Option<String>) {
    let Named { code, message } = Named::in_body(body.as_bytes());
    (code, message)
}

fn is(code: &str, message: &str) -> (Option<String>, Option<String>) {
    (Some(code.to_owned()), Some(message.to_owned()))
}

#[test]
fn every_form_of_an_error_in_json_is_understood() {
    assert_eq!(named(r#"{"error":{"code":"A","message":"m"}}"#), is("A", "m"));
    assert_eq!(named(r#"{"code":"A","message":"m"}"#), is("A", "m"));
    assert_eq!(named(r#"{"odata.error":{"code":"A","message":{"lang":"en","value":"m"}}}"#), is("A", "m"));
    assert_eq!(named(r#"{"error":"A","error_description":"m","error_codes":[1]}"#), is("A", "m"));
    assert_eq!(named(r#"{"error":{"code":"A","message":"m","innererror":{"code":"B"}},"code":"C"}"#), is("A", "m"));
}

#[test]
fn what_is_no_error_in_json_names_nothing() {
    let long = format!(r#"{{"code":"A","padding":"{}"}}"#, "x".repeat(READ_AHEAD));
    for body in ["", "null", "[]", "7", "{", "<Error><Code>A</Code></Error>", r#"{"code":7}"#, r#"{"error":[]}"#, &long]
    {
        assert_eq!(named(body), (None, None), "{body}");
    }
}

#[test]
fn a_code_that_is_known_otherwise_is_the_last_resort() {
    assert_eq!(Named::in_body(br#"{"code":"A"}"#).or_code(Some("B")).code.as_deref(), Some("A"));
    assert_eq!(Named::in_body(b"").or_code(Some("B")).code.as_deref(), Some("B"));
}

proptest! {
    #[test]
    fn any_body_is_read_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let Named { code, .. } = Named::in_body(&body);
        prop_assert!(code.is_none_or(|code| code.len() <= body.len()));
    }
}
