//! What is the same in both versions of tonic, over the crate that a version is and the clients that are generated for it.

macro_rules! calls {
    ($tonic:ident, $apis:ident, $body:ty) => {
        use std::error::Error;
        use std::sync::Arc;
        use std::time::Duration;

        use bytes::Bytes;
        use cloud_governor::Refusal;
        use futures_util::StreamExt;
        use hyper::body::Body;
        use $apis::pubsub::v1::publisher_client::PublisherClient;
        use $apis::pubsub::v1::subscriber_client::SubscriberClient;
        use $apis::pubsub::v1::{
            AcknowledgeRequest, GetTopicRequest, ListTopicsRequest, PublishRequest, PubsubMessage, PullRequest,
            StreamingPullRequest,
        };
        use $apis::storage::v2::storage_client::StorageClient;
        use $apis::storage::v2::{
            ComposeObjectRequest, CreateBucketRequest, GetBucketRequest, ReadObjectRequest, WriteObjectRequest,
        };
        use $tonic::client::GrpcService;
        use $tonic::transport::{Channel, Endpoint};
        use $tonic::{Request, Status};

        use crate::clients::{Answer, Ask, Calls, Client, Coming, Going, Rpc, Said, Sending};

        type StdError = Box<dyn Error + Send + Sync>;

        /// Connects when it is first used.
        pub(crate) fn channel(url: &str) -> Channel {
            Endpoint::from_shared(url.to_owned()).expect("an address").connect_lazy()
        }

        /// The same, which bounds each request by this.
        pub(crate) fn within(url: &str, timeout: Duration) -> Channel {
            Endpoint::from_shared(url.to_owned()).expect("an address").timeout(timeout).connect_lazy()
        }

        /// Clients over a channel.
        pub(crate) struct Over<S>(S);

        pub(crate) fn over<S>(channel: S) -> Client
        where
            Over<S>: Calls + 'static,
        {
            Arc::new(Over(channel))
        }

        fn said(status: Status) -> Said {
            let error: &(dyn Error + 'static) = &status;
            let mut text = format!("{status:?}");
            let mut next = Some(error);
            while let Some(error) = next {
                text += &format!("; {error}; {error:?}");
                next = error.source();
            }
            Said {
                code: i32::from(status.code()).into(),
                message: status.message().to_owned(),
                details: status.details().to_vec(),
                own: status.metadata().get("x-own").map(|own| own.to_str().expect("text").to_owned()),
                refusal: Refusal::find(error).map(Refusal::kind),
                text,
            }
        }

        fn ask<T>(mut request: Request<T>, ask: Ask, key: &str, resource: String) -> Request<T> {
            let parameters = format!("{key}={resource}").parse().expect("a header");
            request.metadata_mut().append("x-goog-request-params", parameters);
            if let Some(timeout) = ask.timeout {
                request.set_timeout(timeout);
            }
            if let Some(options) = ask.options {
                request.extensions_mut().insert(options);
            }
            request
        }

        impl<S> Calls for Over<S>
        where
            S: GrpcService<$body, Future: Send, Error: Into<StdError>> + Clone + Send + Sync + 'static,
            S::ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
        {
            fn call(&self, rpc: Rpc, how: Ask) -> Answer<()> {
                let mut publisher = PublisherClient::new(self.0.clone());
                let mut subscriber = SubscriberClient::new(self.0.clone());
                let mut storage = StorageClient::new(self.0.clone());
                let topic = how.resource("topics/t");
                let subscription = how.resource("subscriptions/s");
                let bucket = "projects/_/buckets/b".to_owned();
                Box::pin(async move {
                    let result = match rpc {
                        Rpc::GetTopic => {
                            let get = GetTopicRequest { topic: topic.clone() };
                            publisher.get_topic(ask(Request::new(get), how, "topic", topic)).await.map(drop)
                        }
                        Rpc::ListTopics => {
                            let project = format!("projects/{}", how.project);
                            let list = ListTopicsRequest { project: project.clone(), ..Default::default() };
                            publisher.list_topics(ask(Request::new(list), how, "project", project)).await.map(drop)
                        }
                        Rpc::Publish => {
                            let message = PubsubMessage { data: vec![b'x'; how.length], ..Default::default() };
                            let publish = PublishRequest { topic: topic.clone(), messages: vec![message] };
                            publisher.publish(ask(Request::new(publish), how, "topic", topic)).await.map(drop)
                        }
                        Rpc::Pull => {
                            let pull = PullRequest {
                                subscription: subscription.clone(),
                                max_messages: 1,
                                ..Default::default()
                            };
                            let pull = ask(Request::new(pull), how, "subscription", subscription);
                            subscriber.pull(pull).await.map(drop)
                        }
                        Rpc::Acknowledge => {
                            let ids = vec!["1".to_owned()];
                            let request = AcknowledgeRequest { subscription: subscription.clone(), ack_ids: ids };
                            let request = ask(Request::new(request), how, "subscription", subscription);
                            subscriber.acknowledge(request).await.map(drop)
                        }
                        Rpc::GetBucket => {
                            let get = GetBucketRequest { name: bucket.clone(), ..Default::default() };
                            storage.get_bucket(ask(Request::new(get), how, "bucket", bucket)).await.map(drop)
                        }
                        Rpc::CreateBucket => {
                            let parent = format!("projects/{}", how.project);
                            let create = CreateBucketRequest { parent: parent.clone(), ..Default::default() };
                            storage.create_bucket(ask(Request::new(create), how, "project", parent)).await.map(drop)
                        }
                        Rpc::ComposeObject => {
                            let compose = ComposeObjectRequest::default();
                            storage.compose_object(ask(Request::new(compose), how, "bucket", bucket)).await.map(drop)
                        }
                    };
                    result.map_err(said)
                })
            }

            fn read(&self, how: Ask) -> Answer<Coming> {
                let mut storage = StorageClient::new(self.0.clone());
                let bucket = "projects/_/buckets/b".to_owned();
                let read = ReadObjectRequest { bucket: bucket.clone(), object: "o".to_owned(), ..Default::default() };
                Box::pin(async move {
                    let coming = storage.read_object(ask(Request::new(read), how, "bucket", bucket)).await;
                    Ok(coming.map_err(said)?.into_inner().map(|part| part.map(drop).map_err(said)).boxed())
                })
            }

            fn write(&self, how: Ask, going: Going) -> Answer<()> {
                let mut storage = StorageClient::new(self.0.clone());
                let going = Sending(going, || WriteObjectRequest { write_offset: 1, ..Default::default() });
                let going = ask(Request::new(going), how, "bucket", "projects/_/buckets/b".to_owned());
                Box::pin(async move { storage.write_object(going).await.map(drop).map_err(said) })
            }

            fn pull(&self, how: Ask, going: Going) -> Answer<Coming> {
                let mut subscriber = SubscriberClient::new(self.0.clone());
                let subscription = how.resource("subscriptions/s");
                let going =
                    Sending(going, || StreamingPullRequest { stream_ack_deadline_seconds: 10, ..Default::default() });
                let going = ask(Request::new(going), how, "subscription", subscription);
                Box::pin(async move {
                    let coming = subscriber.streaming_pull(going).await.map_err(said)?.into_inner();
                    Ok(coming.map(|part| part.map(drop).map_err(said)).boxed())
                })
            }
        }
    };
}

pub(super) use calls;
