use std::fmt;

use super::*;
use crate::{Class, RefusalKind, Resend};

/// An error with a text and perhaps a source, as a caller's own wrapper would be.
#[derive(Debug)]
struct Wrapper(&'static str, Option<Box<dyn Error + Send + Sync>>);

impl fmt::Display for Wrapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Wrapper {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

fn wrapped(source: impl Error + Send + Sync + 'static) -> Wrapper {
    Wrapper("the call failed", Some(Box::new(source)))
}

fn transient(resend: Resend) -> Classification {
    Classification::transient().with_resend(resend)
}

#[test]
fn a_refused_connection_was_not_executed() {
    let error = wrapped(io::Error::from(io::ErrorKind::ConnectionRefused));
    assert_eq!(classify_error(&error), transient(Resend::Safe));
}

#[test]
fn a_broken_connection_may_have_been_executed() {
    use io::ErrorKind as Kind;
    for kind in [Kind::ConnectionReset, Kind::BrokenPipe, Kind::UnexpectedEof, Kind::TimedOut, Kind::HostUnreachable] {
        assert_eq!(classify_error(&io::Error::from(kind)), transient(Resend::IfIdempotent), "{kind:?}");
    }
}

#[test]
fn a_files_error_is_fatal() {
    use io::ErrorKind as Kind;
    for kind in [Kind::NotFound, Kind::PermissionDenied, Kind::InvalidData, Kind::StorageFull, Kind::Other] {
        assert_eq!(classify_error(&io::Error::from(kind)), Classification::fatal(), "{kind:?}");
    }
}

#[test]
fn a_failed_name_lookup_was_not_executed() {
    use std::net::ToSocketAddrs;
    // Longer than a label may be, so that no name server is asked.
    let error = ("x".repeat(300).as_str(), 443).to_socket_addrs().unwrap_err();
    assert_eq!(classify_error(&error), transient(Resend::Safe), "{error}");
}

#[test]
fn what_an_io_error_wraps_is_seen() {
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    let error = io::Error::other(wrapped(reset));
    assert_eq!(classify_error(&error), transient(Resend::IfIdempotent));
    let message = io::Error::other(Wrapper("Rate exceeded", None));
    assert_eq!(classify_error(&message).class, Class::Throttled);
}

#[test]
fn a_failed_connect_outranks_what_lies_above_it() {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let error = io::Error::new(io::ErrorKind::TimedOut, wrapped(refused));
    assert_eq!(classify_error(&error), transient(Resend::Safe));
}

#[tokio::test(start_paused = true)]
async fn an_elapsed_timeout_is_transient() {
    let elapsed = tokio::time::timeout(std::time::Duration::from_secs(1), std::future::pending::<()>()).await;
    assert_eq!(classify_error(&wrapped(elapsed.unwrap_err())), transient(Resend::IfIdempotent));
}

#[test]
fn without_facts_the_texts_of_the_chain_are_the_message() {
    let throttled = wrapped(Wrapper("ThrottlingException: Rate exceeded", None));
    assert_eq!(classify_error(&throttled).class, Class::Throttled);
    assert_eq!(classify_error(&wrapped(Wrapper("no such table", None))), Classification::fatal());
}

#[test]
fn with_facts_the_texts_say_nothing() {
    let error =
        Wrapper("throttle.example could not be reached", Some(Box::new(io::Error::from(io::ErrorKind::BrokenPipe))));
    assert_eq!(classify_error(&error), transient(Resend::IfIdempotent));
}

#[test]
fn the_governors_own_refusal_is_never_retried() {
    let scope = Scope::new("aws", "1", "eu-west-1", "ec2");
    let refusal = Refusal::new(RefusalKind::CircuitOpen, scope, "throttled too often: rate exceeded", None);
    assert_eq!(classify_error(&wrapped(refusal)), Classification::fatal());
}

#[test]
fn a_chain_that_bites_its_tail_ends() {
    #[derive(Debug)]
    struct Ouroboros;
    impl fmt::Display for Ouroboros {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("again")
        }
    }
    impl Error for Ouroboros {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }
    assert_eq!(classify_error(&Ouroboros), Classification::fatal());
}

#[test]
fn an_errors_own_verdict_beats_the_rules() {
    struct Stubborn;
    impl Classify for Stubborn {
        fn facts(&self) -> Facts<'_> {
            Facts::new().status(404)
        }
        fn classify(&self, _: &Rules, _: &Scope) -> Classification {
            Classification::locked()
        }
    }
    let scope = Scope::new("aws", "*", "*", "ec2");
    assert_eq!(Box::new(Stubborn).classify(&Rules::new(), &scope), Classification::locked());
}

#[test]
fn the_scope_of_the_call_narrows_the_rules() {
    let rules = Rules::from_iter([crate::Rule::when()
        .provider("aws")
        .service("ec2")
        .transport(Transport::Io)
        .then(Class::Fatal)
        .unwrap()]);
    let boxed: Box<dyn Error + Send + Sync> = Box::new(io::Error::from(io::ErrorKind::BrokenPipe));
    let in_service = |service: &str| boxed.classify(&rules, &Scope::new("aws", "*", "*", service)).class;
    assert_eq!(in_service("ec2"), Class::Fatal);
    assert_eq!(in_service("s3"), Class::Transient);
    assert_eq!(rules.classify_error(&Scope::new("gcp", "*", "*", "ec2"), &*boxed).class, Class::Transient);
}

// ===== with the features =====

/// Serves one connection on the loopback interface: reads the request's head, answers, closes.
#[cfg(any(feature = "reqwest", feature = "hyper"))]
fn serve_once(answer: &'static str) -> std::net::SocketAddr {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let head = BufReader::new(connection.try_clone().unwrap()).lines();
        head.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
        connection.write_all(answer.as_bytes()).unwrap();
    });
    address
}

/// An address at which nobody listens.
#[cfg(any(feature = "reqwest", feature = "hyper", feature = "tonic"))]
fn deserted() -> std::net::SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[cfg(feature = "reqwest")]
mod with_reqwest {
    use super::*;

    async fn get(address: std::net::SocketAddr) -> reqwest::Result<String> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        client.get(format!("http://{address}/throttled")).send().await?.error_for_status()?.text().await
    }

    #[tokio::test]
    async fn a_status_is_a_fact_and_the_url_is_no_message() {
        let error = get(serve_once("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n")).await.unwrap_err();
        assert_eq!(classify_error(&error), Classification::throttled());
        let error = get(serve_once("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")).await.unwrap_err();
        assert_eq!(classify_error(&wrapped(error)), Classification::fatal());
    }

    #[tokio::test]
    async fn a_failed_connect_was_not_executed() {
        let error = get(deserted()).await.unwrap_err();
        assert_eq!(classify_error(&wrapped(error)), transient(Resend::Safe));
    }

    #[tokio::test]
    async fn a_redirect_that_goes_nowhere_is_fatal_whatever_the_url_says() {
        let address = serve_once("HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n");
        let none = reqwest::redirect::Policy::limited(0);
        let client = reqwest::Client::builder().no_proxy().redirect(none).build().unwrap();
        let error = client.get(format!("http://{address}/throttled")).send().await.unwrap_err();
        assert!(error.to_string().contains("throttled"), "{error}");
        assert_eq!(classify_error(&error), Classification::fatal());
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_may_have_been_executed() {
        for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhal"] {
            let error = get(serve_once(answer)).await.unwrap_err();
            assert_eq!(classify_error(&error), transient(Resend::IfIdempotent), "{answer:?}: {error:?}");
        }
    }
}

#[cfg(feature = "hyper")]
mod with_hyper {
    use super::*;
    use hyper_util::client::legacy::Client;
    use hyper_util::client::legacy::connect::HttpConnector;
    use hyper_util::rt::TokioExecutor;

    async fn get(address: std::net::SocketAddr) -> Result<(), hyper_util::client::legacy::Error> {
        let client: Client<HttpConnector, String> = Client::builder(TokioExecutor::new()).build_http();
        client.get(format!("http://{address}/").parse().unwrap()).await.map(drop)
    }

    #[tokio::test]
    async fn a_failed_connect_was_not_executed() {
        let error = get(deserted()).await.unwrap_err();
        assert_eq!(classify_error(&wrapped(error)), transient(Resend::Safe));
    }

    #[tokio::test]
    async fn a_missing_answer_may_have_been_executed() {
        let error = get(serve_once("")).await.unwrap_err();
        assert_eq!(classify_error(&wrapped(error)), transient(Resend::IfIdempotent));
    }
}

#[cfg(feature = "tonic")]
mod with_tonic {
    use std::collections::HashMap;
    use std::time::Duration;

    use super::*;
    use tonic::{Code, Status};
    use tonic_types::{ErrorDetails, StatusExt};

    #[test]
    fn a_status_gives_its_code() {
        assert_eq!(classify_error(&wrapped(Status::unavailable("away"))), transient(Resend::IfIdempotent));
        assert_eq!(classify_error(&Status::not_found("throttle")), Classification::fatal());
        assert!(classify_error(&Status::resource_exhausted("")).pays_budget);
    }

    #[test]
    fn its_details_give_reason_delay_and_quota() {
        let status = |limit: &str| {
            let metadata = HashMap::from([("quota_limit".to_owned(), limit.to_owned())]);
            let mut details = ErrorDetails::with_retry_info(Some(Duration::from_millis(12_500)));
            details.set_error_info("RATE_LIMIT_EXCEEDED", "googleapis.com", metadata);
            Status::with_error_details(Code::ResourceExhausted, "quota", details)
        };
        let wait = Duration::from_millis(12_500);
        assert_eq!(classify_error(&status("ReadsPerMinute")), Classification::throttled().with_retry_after(wait));
        assert_eq!(classify_error(&status("ReadsPerDay")), Classification::fatal());
    }

    #[test]
    fn its_metadata_gives_retry_after() {
        let mut status = Status::unavailable("away");
        status.metadata_mut().insert("retry-after", "3".parse().unwrap());
        assert_eq!(classify_error(&status).retry_after, Some(Duration::from_secs(3)));
    }

    #[test]
    fn garbage_for_details_is_ignored() {
        let status = Status::with_details(Code::Unavailable, "away", vec![0xff; 40].into());
        assert_eq!(classify_error(&status), transient(Resend::IfIdempotent));
    }

    #[test]
    fn a_failed_connect_below_a_status_was_not_executed() {
        let refused = std::net::TcpStream::connect(deserted()).unwrap_err();
        let status = Status::from_error(Box::new(tonic::ConnectError(Box::new(refused))));
        assert_eq!(classify_error(&status), transient(Resend::Safe));
    }

    #[test]
    fn a_clients_own_timeout_is_transient_though_its_status_says_cancelled() {
        let status = Status::from_error(Box::new(tonic::TimeoutExpired(())));
        assert_eq!(status.code(), Code::Cancelled);
        assert_eq!(classify_error(&status), transient(Resend::IfIdempotent));
    }

    /// As tonic 0.12 has it, which is another type than 0.14's.
    mod tonic_0_12 {
        #[derive(Debug)]
        pub(super) struct TimeoutExpired(pub(super) ());
        #[derive(Debug)]
        pub(super) struct ConnectError(pub(super) Box<dyn std::error::Error + Send + Sync>);
        #[derive(Debug)]
        pub(super) struct Status(pub(super) String);
        #[derive(Debug)]
        pub(super) struct ConnectErrorCount(pub(super) u8);
    }

    impl fmt::Display for tonic_0_12::TimeoutExpired {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Timeout expired")
        }
    }

    impl Error for tonic_0_12::TimeoutExpired {}

    impl fmt::Display for tonic_0_12::ConnectError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    impl Error for tonic_0_12::ConnectError {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.0)
        }
    }

    impl fmt::Display for tonic_0_12::ConnectErrorCount {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} of them", self.0)
        }
    }

    impl Error for tonic_0_12::ConnectErrorCount {}

    impl fmt::Display for tonic_0_12::Status {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl Error for tonic_0_12::Status {}

    #[test]
    fn another_tonics_status_is_known_by_its_text() {
        let of = |code: &str, message: &str, details: &[u8]| {
            let text =
                format!("status: {code}, message: {message:?}, details: {details:?}, metadata: MetadataMap {{}}");
            classify_error(&wrapped(tonic_0_12::Status(text)))
        };
        assert_eq!(of("Unavailable", "away", &[]), transient(Resend::IfIdempotent));
        assert_eq!(of("NotFound", "topic \"too many requests\", details: [", &[]), Classification::fatal());
        let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(9)));
        let details = Status::with_error_details(Code::ResourceExhausted, "quota", details);
        let throttled = of("ResourceExhausted", "quota", details.details());
        assert_eq!(throttled, Classification::throttled().with_retry_after(Duration::from_secs(9)));
        for text in [
            "",
            "status: ",
            "status: Gone, message: \"\", details: [], ",
            "status: NotFound, message: \"\", details: [",
        ] {
            assert_eq!(classify_error(&tonic_0_12::Status(text.to_owned())), Classification::fatal(), "{text}");
        }
        assert_eq!(of("Unavailable", "away", &[255; 40]), transient(Resend::IfIdempotent));
    }

    #[test]
    fn another_tonics_timeout_and_failed_connect_are_known_by_name() {
        assert_eq!(classify_error(&wrapped(tonic_0_12::TimeoutExpired(()))), transient(Resend::IfIdempotent));
        // A connect that times out, or that TLS fails, shows in nothing else.
        for inside in [io::ErrorKind::TimedOut, io::ErrorKind::InvalidData] {
            let connect = tonic_0_12::ConnectError(Box::new(io::Error::from(inside)));
            assert_eq!(classify_error(&wrapped(connect)), transient(Resend::Safe), "{inside:?}");
        }
        assert_eq!(classify_error(&tonic_0_12::ConnectErrorCount(3)), Classification::fatal());
    }

    #[test]
    fn the_statuses_that_tonics_client_makes_itself_are_known_by_their_text() {
        let not_ready = Status::unknown("Service was not ready: transport error");
        assert_eq!(classify_error(&not_ready), transient(Resend::Safe));
        let from_http =
            |status| Status::unavailable(format!("grpc-status header missing, mapped from HTTP status code {status}"));
        assert_eq!(classify_error(&from_http(429)), Classification::throttled());
        assert_eq!(classify_error(&from_http(502)), transient(Resend::IfIdempotent));
        let cut_short = Status::unknown("protocol error: missing grpc-status trailer, stream was terminated");
        assert_eq!(classify_error(&cut_short), transient(Resend::IfIdempotent));
    }

    #[test]
    fn what_http_2_says_of_a_stream_is_what_grpc_makes_of_it() {
        use h2::Reason;
        let of = |reason: Reason| classify_error(&wrapped(h2::Error::from(reason)));
        assert_eq!(of(Reason::REFUSED_STREAM), transient(Resend::Safe));
        for reason in [Reason::INTERNAL_ERROR, Reason::CANCEL, Reason::NO_ERROR] {
            assert_eq!(of(reason), transient(Resend::IfIdempotent), "{reason:?}");
        }
        assert_eq!(of(Reason::ENHANCE_YOUR_CALM).class, Class::Throttled);
    }

    #[test]
    fn a_quota_failure_names_the_quota() {
        let status = |quota: &str| {
            let violation = tonic_types::QuotaViolation::new("project:1", quota);
            let details = ErrorDetails::with_quota_failure(vec![violation]);
            Status::with_error_details(Code::ResourceExhausted, "quota", details)
        };
        let scope = Scope::new("gcp", "projects/p", "", "cloudasset");
        let class = |quota| Rules::new().classify_error(&scope, &status(quota)).class;
        assert_eq!(class("Requests per day"), Class::Fatal);
        assert_eq!(class("Requests per minute"), Class::Throttled);
    }
}
