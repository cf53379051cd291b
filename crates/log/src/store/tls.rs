//! TLS for PostgreSQL. The server's certificate is verified against the system's root certificates,
//! or against the file in `sslrootcert`.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use waterline::phrase::Phrase;

use crate::error::{LogError, Result};

pub(super) fn connector(roots: Option<&Path>) -> Result<MakeRustlsConnect> {
    let mut store = RootCertStore::empty();
    match roots {
        Some(path) => {
            let cannot = |text: Phrase| LogError::Open { name: path.display().to_string(), text };
            let found = CertificateDer::pem_file_iter(path)
                .map_err(|error| cannot(error.to_string().into()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| cannot(error.to_string().into()))?;
                store.add(certificate).map_err(|error| cannot(error.to_string().into()))?;
            }
        }
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| LogError::Open { name: "TLS".to_owned(), text: error.to_string().into() })?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
