//! A simulated Cloud Pub/Sub, over gRPC on a local socket: topics, subscriptions, and messages that are delivered at least
//! once until they are acknowledged.
//!
//! Paths, messages and errors are those that generated clients speak and read; whatever speaks gRPC comes here by an
//! `http://` endpoint, with a [`Project`]'s token. There are the RPCs of [`Rpc`].
//!
//! # Quotas
//! A call is charged to the project of its token, or to the one that `x-goog-user-project` names, as Pub/Sub does, whoever
//! has the topic. Publish and Acknowledge cost what their requests have of kilobytes, begun ones included; Pull, whose answer
//! is not known yet, and the administrator's operations cost one. A StreamingPull costs nothing ([`Limits`]).
//! A refused call costs nothing. It is told `RESOURCE_EXHAUSTED` with an `ErrorInfo`, as far as [`Telling`]
//! lets it.
//!
//! # Time
//! An ack deadline is of ten seconds at least, and a stream lives for half an hour. [`Pubsub::hurried`] makes both pass
//! faster.
//!
//! # Faults
//! | fault | what it does here |
//! |---|---|
//! | `down` | the connection is closed, with all that is under way on it |
//! | `brownout`, `fail` | the answer is a status without a message, in the headers: 503 is `UNAVAILABLE`, 429 `RESOURCE_EXHAUSTED` |
//! | `cut` | what was asked for is done; the answer, if its request has an even number, ends in trailers that say `UNAVAILABLE`, behind headers that promised one, and if an odd one, is reset amid its message |

use std::io;
use std::sync::Arc;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::Telling;
use crate::sim::{BucketKey, Draw, Ideal, Server};

mod answers;
mod identity;
mod limits;
mod refusal;
mod reply;
mod rpc;
mod site;
mod store;
mod streaming;
mod tasks;
mod visit;

pub use identity::Project;
pub use limits::{Bucket, Limits, kilobytes};
pub use rpc::Rpc;
pub use store::Tally;

use site::Site;
use store::Store;
use tasks::Tasks;

/// Its name in leaves and buckets: the first label of its host.
pub const SERVICE: &str = "pubsub";

/// Its host, which is also its name in errors.
const HOST: &str = "pubsub.googleapis.com";

/// The simulated Pub/Sub.
#[derive(Debug)]
pub struct Pubsub {
    projects: Vec<Project>,
    limits: Limits,
    telling: Telling,
    hurry: u32,
    store: Store,
}

impl Pubsub {
    /// A Pub/Sub with so many projects and these quotas.
    pub fn new(projects: u32, limits: Limits) -> Self {
        let projects = (1..=projects).map(Project::numbered).collect();
        Pubsub { projects, limits, telling: Telling::default(), hurry: 1, store: Store::default() }
    }

    /// With refusals that tell so much.
    #[must_use]
    pub fn telling(self, telling: Telling) -> Self {
        Pubsub { telling, ..self }
    }

    /// With ack deadlines and streams that end so many times sooner; at the time that they say for 0 and 1.
    #[must_use]
    pub fn hurried(self, times: u32) -> Self {
        Pubsub { hurry: times.max(1), ..self }
    }

    /// Its projects.
    pub fn projects(&self) -> &[Project] {
        &self.projects
    }

    /// What it has stored and delivered.
    pub fn tally(&self) -> Tally {
        self.store.tally()
    }

    /// Starts it on a free port of 127.0.0.1, on the current Tokio runtime. `seed` decides the chances of its faults.
    ///
    /// # Errors
    /// The operating system's, when it gives no port.
    pub async fn serve(self: Arc<Self>, seed: u64) -> io::Result<Server> {
        let make = |frame| {
            let site = Arc::new(Site::new(self, frame));
            move |stream, hangup| {
                let site = Arc::clone(&site);
                let service = service_fn(move |request| Arc::clone(&site).exchange(Arc::clone(&hangup), request));
                http2::Builder::new(Tasks::default()).serve_connection(TokioIo::new(stream), service)
            }
        };
        Server::open(seed, make).await
    }

    /// The least wall time for a job that costs so much of each bucket of each project.
    pub fn ideal<'a>(&self, job: impl IntoIterator<Item = (&'a Project, Bucket, u64)>) -> Ideal {
        Ideal::of(job.into_iter().map(|(project, bucket, cost)| (cost, vec![self.draw(project, bucket, 1)])))
    }

    fn draw(&self, project: &Project, bucket: Bucket, cost: u32) -> Draw {
        let quota = self.limits.quota(bucket);
        let key = BucketKey { account: project.account(), region: String::new(), name: quota.bucket.to_owned() };
        Draw { key, limit: quota.limit, cost }
    }
}
