use super::*;

mod azure_gcp;
