use aws_smithy_runtime_api::http::Headers;
use proptest::prelude::*;

use super::{Named, Root, root};

fn headers(pairs: &[(&'static str, &'static str)]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in pairs {
        headers.insert(*name, *value);
    }
    headers
}

#[test]
fn the_outermost_element_is_known_as_soon_as_it_is_there() {
    let error = "<?xml version=\"1.0\"?>\n  <Error xmlns=\"x\"><Code>SlowDown</Code></Error>";
    let at = error.find("\"x\">").expect("its end") + 4;
    for end in 0..error.len() {
        let expected = if end < at { Root::Unknown } else { Root::Error };
        assert_eq!(root(&error.as_bytes()[..end]), expected, "{}", &error[..end]);
    }
    assert_eq!(root(b"<ListBucketResult><Error/>"), Root::Other);
    assert_eq!(root(b" {\"a\": 1}"), Root::Other);
    assert_eq!(root(&[&b"<!--"[..], &[b'-'; 4096]].concat()), Root::Other);
    assert_eq!(root(b"<Error/>"), Root::Error);
}

fn named(code: &str, message: &str) -> Named {
    Named { code: Some(code.to_owned()), message: Some(message.to_owned()) }
}

#[test]
fn codes_are_found_in_every_protocols_body() {
    let none = headers(&[]);
    let cases: [(&[u8], Named); 5] = [
        (
            br#"{"__type":"com.amazonaws.kms#ThrottlingException","message":"Rate exceeded"}"#,
            named("com.amazonaws.kms#ThrottlingException", "Rate exceeded"),
        ),
        (br#" {"Message":"m","code":"C"}"#, named("C", "m")),
        (
            b"<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please &amp; wait</Message></Error>",
            named("SlowDown", "Please "),
        ),
        (
            b"<ErrorResponse xmlns=\"x\"><Error><Type>Sender</Type><Code>Throttling</Code><Message>m</Message></Error></ErrorResponse>",
            named("Throttling", "m"),
        ),
        (
            b"<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>m</Message></Error></Errors></Response>",
            named("RequestLimitExceeded", "m"),
        ),
    ];
    for (body, expected) in cases {
        let found = Named::of(&none, body);
        assert_eq!(found.code, expected.code);
        assert!(found.message.unwrap_or_default().starts_with(&expected.message.unwrap_or_default()));
    }
}

#[test]
fn a_cbor_error_names_its_type_in_both_kinds_of_map() {
    let kind = headers(&[("content-type", "application/cbor")]);
    let expected = named("com.amazonaws.cw#ThrottlingException", "m");
    let mut sized = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut sized);
    let written = encoder
        .map(3)
        .and_then(|e| e.str("extra")?.array(1)?.u8(7)?.str("__type"))
        .and_then(|e| e.str("com.amazonaws.cw#ThrottlingException")?.str("message")?.str("m"));
    assert!(written.is_ok());
    assert_eq!(Named::of(&kind, &sized), expected);
    assert_eq!(Named::of(&kind, &sized).bare_code(), Some("ThrottlingException"));
    let mut open = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut open);
    let written = encoder
        .begin_map()
        .and_then(|e| e.str("message")?.str("m")?.str("__type")?.str("com.amazonaws.cw#ThrottlingException")?.end());
    assert!(written.is_ok());
    assert_eq!(Named::of(&kind, &open), expected);
}

#[test]
fn a_cbor_error_may_come_in_pieces_and_with_fields_of_other_kinds() {
    let mut body = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut body);
    let written = encoder
        .map(4)
        .and_then(|e| e.str("message")?.null()?.str("a")?.begin_map()?.str("b")?.bytes(b"c")?.end())
        .and_then(|e| e.begin_str()?.str("__")?.str("type")?.end()?.begin_str()?.str("Slow")?.str("Down")?.end())
        .and_then(|e| e.str("Message")?.str("m"));
    assert!(written.is_ok());
    // Whatever the head says of it.
    assert_eq!(Named::of(&headers(&[]), &body), named("SlowDown", "m"));
}

#[test]
fn a_json_error_cut_off_names_what_was_read_of_it() {
    let body =
        br#"{"__type":"a.b#TransactionCanceledException","Message":"m","CancellationReasons":[{"Code":"None"},{"Co"#;
    let found = Named::of(&headers(&[]), body);
    assert_eq!((found.bare_code(), found.message.as_deref()), (Some("TransactionCanceledException"), Some("m")));
}

#[test]
fn a_json_error_with_two_codes_has_the_one_that_the_sdk_takes() {
    assert_eq!(Named::of(&headers(&[]), br#"{"__type":"A","code":"B","Message":{"a":1}}"#).bare_code(), Some("B"));
    assert_eq!(Named::of(&headers(&[]), br#"{"__type":"A","code":7}"#).bare_code(), Some("A"));
}

#[test]
fn a_header_that_names_nothing_hides_no_code() {
    let head = headers(&[("x-amzn-query-error", ";Sender"), ("x-amzn-errortype", "")]);
    assert_eq!(Named::of(&head, br#"{"__type":"Y"}"#).bare_code(), Some("Y"));
}

#[test]
fn the_query_compatible_header_outranks_the_body() {
    let head = headers(&[("x-amzn-query-error", "AWS.SimpleQueueService.Throttled;Sender"), ("x-amzn-errortype", "X")]);
    let found = Named::of(&head, br#"{"__type":"Y"}"#);
    assert_eq!(found.bare_code(), Some("AWS.SimpleQueueService.Throttled"));
}

proptest! {
    #[test]
    fn no_body_is_too_odd_to_look_into(body in proptest::collection::vec(any::<u8>(), 0..200), lead in 0..4usize) {
        let leads: [&[u8]; 4] = [b"", b"{", b"<", b"\xbf"];
        let mut all = leads[lead].to_vec();
        all.extend(body);
        for kind in ["application/cbor", "text/xml"] {
            let named = Named::of(&headers(&[("content-type", kind)]), &all);
            let _facts = named.facts(503, &Headers::new());
            prop_assert!(named.bare_code().is_none_or(|code| !code.is_empty()));
        }
    }
}

#[test]
fn the_outermost_element_is_found_behind_white_space_of_any_length() {
    let behind =
        |space: usize, rest: &str| root(format!("<?xml version=\"1.0\"?>{}{rest}", " \n".repeat(space)).as_bytes());
    for space in [0, 1, 600, 30_000] {
        assert_eq!(behind(space, "<Error>"), Root::Error);
        assert_eq!(behind(space, "<Error xmlns=\"urn:x\">"), Root::Error);
        assert_eq!(behind(space, "<Errors>"), Root::Other);
        assert_eq!(behind(space, "<Err"), Root::Unknown);
        assert_eq!(behind(space, ""), Root::Unknown);
        assert_eq!(behind(space, &format!("<!--{}--><Error>", "x".repeat(2000))), Root::Other, "not for ever");
    }
}
