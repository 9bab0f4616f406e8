use std::io;

use cloud_governor::{Governor, Outcome};
use google_cloud_gax::error::CredentialsError;

use super::*;

#[test]
fn an_answer_is_found_in_what_an_upload_wraps_it_into() {
    let answer = || older(403, "Rate Limit Exceeded", "rateLimitExceeded");
    for error in [
        Error::io(answer()),
        Error::io(Error::io(answer())),
        Error::exhausted(answer()),
        Error::exhausted(Error::io(answer())),
    ] {
        assert_eq!(judged(&error), (Class::Throttled, Resend::Safe), "{error:?}");
    }
    let refused = Error::io(Error::connect(io::Error::from(io::ErrorKind::ConnectionRefused)));
    assert_eq!(judged(&refused), (Class::Transient, Resend::Safe));
    assert_eq!(class(&Error::io(answer_404())), Class::Fatal);
}

fn answer_404() -> Error {
    answer(404, "NOT_FOUND", "The specified bucket does not exist.", "[]")
}

#[test]
fn what_went_wrong_on_the_way_says_whether_something_was_sent() {
    let transient = |resend| (Class::Transient, resend);
    assert_eq!(judged(&Error::connect("no route")), transient(Resend::Safe));
    assert_eq!(judged(&Error::timeout("late")), transient(Resend::IfIdempotent));
    assert_eq!(judged(&Error::io("reset")), transient(Resend::IfIdempotent));
    assert_eq!(judged(&Error::transport(HeaderMap::new(), "reset")), transient(Resend::IfIdempotent));
    let broken = to_gax_error(tonic::Status::from_error(Box::new(io::Error::from(io::ErrorKind::ConnectionReset))));
    assert_eq!(judged(&broken), transient(Resend::IfIdempotent));
}

#[test]
fn credentials_that_fail_for_now_are_sent_again_as_nothing_was_sent() {
    let passing = Error::authentication(CredentialsError::from_msg(true, "metadata server: too many requests"));
    assert_eq!(judged(&passing), (Class::Transient, Resend::Safe));
    let for_good = Error::authentication(CredentialsError::from_msg(false, "token endpoint: rate limit exceeded"));
    assert_eq!(class(&for_good), Class::Fatal, "it is no throttle of the service");
    assert_eq!(class(&Error::io(passing)), Class::Transient);
}

#[test]
fn what_the_client_itself_could_not_do_is_fatal() {
    let too_many = || "too many requests";
    for error in
        [Error::ser(too_many()), Error::deser(too_many()), Error::binding(too_many()), Error::exhausted(too_many())]
    {
        assert_eq!(class(&error), Class::Fatal, "{error:?}");
    }
}

#[test]
fn a_page_instead_of_a_grpc_answer_has_its_http_status() {
    let page = |status: &str| {
        let mut error =
            tonic::Status::unavailable(format!("grpc-status header missing, mapped from HTTP status code {status}"));
        error.metadata_mut().insert("content-type", "text/html".parse().unwrap());
        to_gax_error(error)
    };
    assert_eq!(judged(&page("429")), (Class::Throttled, Resend::Safe));
    assert_eq!(judged(&page("502")), (Class::Transient, Resend::IfIdempotent));
    assert_eq!(class(&page("404")), Class::Fatal);
    for odd in ["", "4", "x04", "é04"] {
        assert_eq!(judged(&page(odd)), (Class::Transient, Resend::IfIdempotent), "{odd}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_governors_is_no_answer() {
    let mut call = Governor::builder().build().call(&Scope::new("gcp", "projects/p", "", "cloudasset"));
    call.admit().await.unwrap().finish(Outcome::Success);
    let refusal = call.admit().await.unwrap_err();
    let error = Error::authentication(CredentialsError::new(true, "refused", refusal));
    let told = Told::of(&error);
    assert_eq!(format!("{:?}", told.facts), format!("{:?}", cloud_governor::Facts::new().provider("gcp")));
    assert_eq!((told.consumer, told.limit), (None, None));
}
