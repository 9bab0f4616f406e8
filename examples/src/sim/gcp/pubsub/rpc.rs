//! The RPCs that there are.

use super::Bucket;

/// One RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rpc {
    /// `Publisher.CreateTopic`.
    CreateTopic,
    /// `Publisher.GetTopic`.
    GetTopic,
    /// `Publisher.Publish`.
    Publish,
    /// `Subscriber.CreateSubscription`.
    CreateSubscription,
    /// `Subscriber.GetSubscription`.
    GetSubscription,
    /// `Subscriber.Pull`.
    Pull,
    /// `Subscriber.StreamingPull`.
    StreamingPull,
    /// `Subscriber.Acknowledge`.
    Acknowledge,
    /// `Subscriber.ModifyAckDeadline`.
    ModifyAckDeadline,
}

impl Rpc {
    /// All of them.
    pub const ALL: [Rpc; 9] = [
        Rpc::CreateTopic,
        Rpc::GetTopic,
        Rpc::Publish,
        Rpc::CreateSubscription,
        Rpc::GetSubscription,
        Rpc::Pull,
        Rpc::StreamingPull,
        Rpc::Acknowledge,
        Rpc::ModifyAckDeadline,
    ];

    /// Its name, which is the operation of its leaf.
    pub fn name(self) -> &'static str {
        match self {
            Rpc::CreateTopic => "CreateTopic",
            Rpc::GetTopic => "GetTopic",
            Rpc::Publish => "Publish",
            Rpc::CreateSubscription => "CreateSubscription",
            Rpc::GetSubscription => "GetSubscription",
            Rpc::Pull => "Pull",
            Rpc::StreamingPull => "StreamingPull",
            Rpc::Acknowledge => "Acknowledge",
            Rpc::ModifyAckDeadline => "ModifyAckDeadline",
        }
    }

    /// The bucket that it draws on, if any.
    pub fn bucket(self) -> Option<Bucket> {
        match self {
            Rpc::CreateTopic | Rpc::GetTopic | Rpc::CreateSubscription | Rpc::GetSubscription => {
                Some(Bucket::Administrator)
            }
            Rpc::Publish => Some(Bucket::Publish),
            Rpc::Pull => Some(Bucket::Pull),
            Rpc::StreamingPull => None,
            Rpc::Acknowledge | Rpc::ModifyAckDeadline => Some(Bucket::Acknowledge),
        }
    }

    /// The RPC that a request's path names.
    pub(super) fn find(path: &str) -> Option<Self> {
        let (service, method) = path.strip_prefix("/google.pubsub.v1.")?.split_once('/')?;
        Rpc::ALL.into_iter().find(|rpc| rpc.service() == service && rpc.name() == method)
    }

    fn service(self) -> &'static str {
        match self {
            Rpc::CreateTopic | Rpc::GetTopic | Rpc::Publish => "Publisher",
            _ => "Subscriber",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rpc;

    #[test]
    fn an_rpc_is_found_by_the_whole_path_only() {
        assert_eq!(Rpc::find("/google.pubsub.v1.Publisher/Publish"), Some(Rpc::Publish));
        assert_eq!(Rpc::find("/google.pubsub.v1.Subscriber/Pull"), Some(Rpc::Pull));
        for path in [
            "",
            "/",
            "/google.pubsub.v1.Subscriber/Publish",
            "/google.pubsub.v1.Publisher/publish",
            "/google.pubsub.v1.Publisher/Publish/",
            "/google.pubsub.v2.Publisher/Publish",
        ] {
            assert_eq!(Rpc::find(path), None, "{path}");
        }
    }
}
