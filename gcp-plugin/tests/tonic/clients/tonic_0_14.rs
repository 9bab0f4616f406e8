//! gcloud-googleapis 1.x.

super::calls!(tonic, gcloud_googleapis, tonic::body::Body);
