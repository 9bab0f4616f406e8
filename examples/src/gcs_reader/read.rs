//! The read itself.

use std::fmt;
use std::time::Duration;

use cloud_governor_gcp::{CallOptions, CallReport, call};
use google_cloud_gax::error::Error;
use google_cloud_storage::client::Storage;
use google_cloud_storage::read_resume_policy::{ReadResumePolicyExt, Recommended};

use super::ending::Ending;

/// How often bytes that broke off are asked for again, in one read.
pub const RESUMES: u32 = 8;

/// An object, by bucket and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The bucket's name.
    pub bucket: String,
    /// The object's name.
    pub name: String,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gs://{}/{}", self.bucket, self.name)
    }
}

/// Reads an object whole, and keeps nothing of it. `options` hold for its request and for each that asks for the rest. The
/// read as a whole is dropped at the deadline, if there is one.
pub async fn read(
    client: &Storage,
    object: &Object,
    options: CallOptions,
    deadline: Option<Duration>,
) -> (Ending, CallReport) {
    let report = CallReport::new();
    let whole = call(options.report(&report), bytes_of(client, object));
    let ended = match deadline {
        Some(deadline) => tokio::time::timeout(deadline, whole).await,
        None => Ok(whole.await),
    };
    let ending = match ended {
        Ok(Ok(bytes)) => Ending::Read(bytes),
        Ok(Err(error)) => Ending::of(&error, &report),
        Err(_) => Ending::Late,
    };
    (ending, report)
}

/// How many bytes there are. The client compares the checksum with the last of them.
async fn bytes_of(client: &Storage, object: &Object) -> Result<u64, Error> {
    let bucket = format!("projects/_/buckets/{}", object.bucket);
    // The client asks the policy once the first resume is to be made, and counts it as the first attempt.
    let resume = Recommended.with_attempt_limit(RESUMES + 1);
    let mut response = client.read_object(bucket, &object.name).with_read_resume_policy(resume).send().await?;
    let mut bytes = 0;
    while let Some(chunk) = response.next().await {
        bytes += chunk?.len() as u64;
    }
    Ok(bytes)
}
