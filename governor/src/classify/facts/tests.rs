use super::*;

#[test]
fn codes_lose_their_namespace_and_what_follows_them() {
    let forms = [
        ("ThrottlingException", "ThrottlingException"),
        ("com.amazonaws.foo#ThrottlingException", "ThrottlingException"),
        ("ThrottlingException:http://internal.amazon.com/coral/com.amazon.coral.validate/", "ThrottlingException"),
        ("com.amazonaws.foo#ThrottlingException:http://example.com/#top", "ThrottlingException"),
        ("aws.protocoltests#X", "X"),
        ("Throttling;Sender", "Throttling"),
        (" SlowDown ", "SlowDown"),
    ];
    for (sent, bare) in forms {
        assert_eq!(Facts::new().code(sent).code.as_deref(), Some(bare), "{sent}");
    }
    for empty in ["", " ", "#", ":", "ns#", ";Sender"] {
        assert_eq!(Facts::new().code(empty).code, None, "{empty:?}");
    }
}

#[test]
fn a_bare_code_is_borrowed() {
    assert!(matches!(Facts::new().code("SlowDown").code, Some(Cow::Borrowed("SlowDown"))));
}

#[test]
fn debug_shows_neither_message_nor_headers() {
    let facts = Facts::new()
        .provider("aws")
        .code("Throttling")
        .status(400)
        .message("token hunter2 was refused")
        .header("authorization", "Bearer hunter2")
        .header("retry-after", "hunter2")
        .header("x-amz-retry-after", "1500");
    let shown = format!("{facts:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    for part in ["aws", "Throttling", "400", "1.5s", "has_message: true"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn headers_give_the_wait_and_a_code_unless_one_is_known() {
    let headers = [("Content-Type", "text/xml"), ("x-ms-error-code", "ServerBusy"), ("Retry-After", "3")];
    let facts = Facts::new().headers(headers);
    assert_eq!(facts.code.as_deref(), Some("ServerBusy"));
    assert_eq!(facts.retry_after(), Some(Duration::from_secs(3)));
    assert_eq!(Facts::new().code("Known").headers(headers).code.as_deref(), Some("Known"));
    let query = Facts::new().header("x-amzn-query-error", "Throttling;Sender");
    assert_eq!(query.code.as_deref(), Some("Throttling"));
}

#[test]
fn the_scope_fills_in_only_what_is_missing() {
    let scope = Scope::new("aws", "*", "*", "ec2");
    let facts = Facts::new().in_scope(&scope);
    assert_eq!((facts.provider.as_deref(), facts.service.as_deref()), (Some("aws"), Some("ec2")));
    let facts = Facts::new().provider("gcp").service("storage").in_scope(&scope);
    assert_eq!((facts.provider.as_deref(), facts.service.as_deref()), (Some("gcp"), Some("storage")));
    let unknown = Scope::new("*", "*", "*", "*");
    assert_eq!(Facts::new().in_scope(&unknown).provider, None);
}

#[test]
fn grpc_codes_go_by_name_and_number() {
    let ways = ["8", "RESOURCE_EXHAUSTED", "resource_exhausted", "ResourceExhausted", " 8 "];
    for way in ways {
        assert_eq!(way.parse(), Ok(GrpcCode::ResourceExhausted), "{way}");
    }
    for (number, name, code) in [
        (0, "OK", GrpcCode::Ok),
        (1, "Canceled", GrpcCode::Cancelled),
        (16, "UNAUTHENTICATED", GrpcCode::Unauthenticated),
    ] {
        assert_eq!(GrpcCode::from_number(number), Some(code));
        assert_eq!(GrpcCode::from_name(name), Some(code));
    }
    for unknown in ["17", "-1", "", "NOPE", "99999999999999"] {
        assert_eq!(unknown.parse::<GrpcCode>(), Err(UnknownGrpcCode), "{unknown}");
    }
}

#[test]
fn every_grpc_code_stands_at_its_number() {
    for (number, (code, name)) in (0..).zip(GrpcCode::ALL) {
        assert_eq!(GrpcCode::from_number(number), Some(code));
        assert_eq!(GrpcCode::from_name(name), Some(code));
        assert_eq!(code as i32, number);
    }
}
