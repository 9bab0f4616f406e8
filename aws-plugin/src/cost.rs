//! What a request costs where what is limited is not calls.
//!
//! EC2 has buckets for the instances that its calls start, stop and terminate, besides those for the calls
//! (<https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>). How many that are is in the request, which
//! the interceptor sees before the first gate. The gate itself has nothing but the config bag, so the number travels in it.

use std::num::NonZeroU32;

use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, Metadata};
use aws_smithy_types::config_bag::{Storable, StoreReplace};

/// The longest form that is looked through: a thousand instances have some 40 kB, and user data comes to 22 at most.
const LONGEST_FORM: usize = 256 * 1024;

/// How many units each attempt of an operation takes: in the config bag for the gate, and on the request for the observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost(pub(crate) NonZeroU32);

impl Storable for Cost {
    type Storer = StoreReplace<Self>;
}

impl Cost {
    /// Of an operation's serialized request, if it says so: EC2 alone has operations whose limits count units.
    pub(crate) fn of(metadata: &Metadata, request: &HttpRequest) -> Option<Self> {
        if metadata.service() != "EC2" {
            return None;
        }
        match metadata.name() {
            "RunInstances" => {
                let most = fields(request)?.find_map(|field| field.strip_prefix("MaxCount="))?;
                most.parse().ok().map(Cost)
            }
            "StartInstances" | "StopInstances" | "TerminateInstances" => {
                let instances = fields(request)?.filter(|field| field.starts_with("InstanceId."));
                u32::try_from(instances.count()).ok().and_then(NonZeroU32::new).map(Cost)
            }
            _ => None,
        }
    }
}

/// The fields of a form. Neither their names nor what is read of them have anything in them that is escaped.
fn fields(request: &HttpRequest) -> Option<impl Iterator<Item = &str>> {
    let form = request.body().bytes().filter(|form| form.len() <= LONGEST_FORM)?;
    Some(std::str::from_utf8(form).ok()?.split('&'))
}

#[cfg(test)]
mod tests;
