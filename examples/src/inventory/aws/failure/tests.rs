use aws_sdk_sts::operation::get_caller_identity::GetCallerIdentityError;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::error::ErrorMetadata;
use aws_smithy_types::retry::ErrorKind;

use super::*;
use crate::inventory::failure::{Failure, Worth};

type Sdk = SdkError<GetCallerIdentityError, HttpResponse>;

fn answered(code: &str, message: &str, status: u16) -> Sdk {
    let metadata = ErrorMetadata::builder().code(code).message(message).build();
    let response = HttpResponse::new(StatusCode::try_from(status).expect("a status"), SdkBody::empty());
    SdkError::service_error(GetCallerIdentityError::generic(metadata), response)
}

fn failure(error: &Sdk) -> Failure {
    Failure::of("sts.GetCallerIdentity", error, &cloud_governor::Rules::new())
}

#[test]
fn throttles_and_passing_failures_are_worth_another_try() {
    let connector = |kind| SdkError::dispatch_failure(ConnectorError::other("closed".into(), kind));
    let errors = [
        answered("ThrottlingException", "Rate exceeded", 400),
        answered("InternalFailure", "", 500),
        SdkError::timeout_error("late"),
        SdkError::dispatch_failure(ConnectorError::io("reset".into())),
        connector(Some(ErrorKind::TransientError)),
        SdkError::response_error("cut", HttpResponse::new(StatusCode::try_from(200).expect("ok"), SdkBody::empty())),
    ];
    for error in &errors {
        assert!(matches!(failure(error).worth(), Worth::Later(_)), "{error:?}");
    }
}

#[test]
fn what_waiting_does_not_mend_is_not() {
    let errors = [
        answered("AccessDenied", "no", 403),
        SdkError::construction_failure("no region"),
        SdkError::dispatch_failure(ConnectorError::other("no credentials".into(), None)),
    ];
    for error in &errors {
        assert_eq!(failure(error).worth(), Worth::Never, "{error:?}");
    }
}

#[test]
fn a_service_s_message_is_not_repeated() {
    let failure =
        failure(&answered("SignatureDoesNotMatch", "the canonical request: x-amz-security-token:hunter2", 403));
    assert_eq!(failure.to_string(), "sts.GetCallerIdentity: SignatureDoesNotMatch (HTTP 403)");
    assert!(!format!("{failure:?}").contains("hunter2"));
}

#[test]
fn what_a_service_said_is_an_answer_and_what_the_network_did_is_none() {
    let response = || HttpResponse::new(StatusCode::try_from(200).expect("ok"), SdkBody::empty());
    for error in [answered("ThrottlingException", "", 400), SdkError::response_error("cut", response())] {
        assert!(failure(&error).answered(), "{error:?}");
    }
    for error in [SdkError::timeout_error("late"), SdkError::dispatch_failure(ConnectorError::io("reset".into()))] {
        assert!(!failure(&error).answered(), "{error:?}");
    }
}
