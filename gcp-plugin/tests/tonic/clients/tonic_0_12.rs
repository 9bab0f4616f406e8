//! google-cloud-googleapis 0.16.

super::calls::calls!(tonic_0_12, google_cloud_googleapis, tonic_0_12::body::BoxBody);
