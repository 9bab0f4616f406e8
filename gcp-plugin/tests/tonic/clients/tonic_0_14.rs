//! gcloud-googleapis 1.x.

super::calls::calls!(tonic, gcloud_googleapis, tonic::body::Body);
