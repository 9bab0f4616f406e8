//! The shortest real use in Azure: lists the virtual machines of one subscription, governed, as whoever is signed in to
//! the Azure CLI or the Azure Developer CLI. Those make their tokens themselves, so the credential needs no governor.
//!
//! `cargo run -p cloud-governor-examples --bin list_vms -- 00000000-0000-0000-0000-000000000000`

use std::io::{Write, stdout};

use anyhow::Context;
use azure_core::http::ClientOptions;
use azure_identity::DeveloperToolsCredential;
use cloud_governor_azure::{AzureOptions, governed};
use cloud_governor_examples::arm::ArmClient;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let subscription = std::env::args().nth(1).context("usage: list_vms <subscription id>")?;
    let credential = DeveloperToolsCredential::new(None)?;
    let options = governed(ClientOptions::default(), AzureOptions::new());
    let client = ArmClient::new(credential, options, "https://management.azure.com")?;
    let mut next = None;
    loop {
        let page = client.virtual_machines(&subscription, next.as_ref()).await?;
        for machine in page.rows {
            writeln!(stdout(), "{} {}", machine.name, machine.location)?;
        }
        next = page.next;
        if next.is_none() {
            return Ok(());
        }
    }
}
