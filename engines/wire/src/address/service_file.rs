//! `pg_service.conf`: settings of libpq by the names of services, `[name]` and lines of `setting=value`.
//! COMPAT: libpq's rules; a service is looked for in the user's file, then in the system's.

use super::{AddressError, AddressSettings, setting_error, setting_files};
use std::path::PathBuf;

/// The settings of a service, from the first file that has it.
pub(super) fn settings(service: &str, files: &[PathBuf]) -> Result<AddressSettings, AddressError> {
    for path in files {
        let read = setting_files::read(path);
        let read = read.map_err(|source| AddressError::File { path: path.display().to_string(), source })?;
        let Some(file) = read else { continue };
        if let Some(found) = section(&file.text, service, &path.display().to_string())? {
            return Ok(found);
        }
    }
    let looked: Vec<String> = files.iter().map(|path| format!("'{}'", path.display())).collect();
    let looked = if looked.is_empty() { "there is no file of services".to_owned() } else { looked.join(", ") };
    Err(AddressError::Syntax(format!("the service '{service}' is not defined ({looked})")))
}

fn section(text: &str, service: &str, path: &str) -> Result<Option<AddressSettings>, AddressError> {
    let mut found: Option<AddressSettings> = None;
    let lines = text.lines().map(str::trim).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if name.strip_suffix(']') == Some(service) {
                found = Some(AddressSettings::new());
            }
            continue;
        }
        let Some(settings) = &mut found else { continue };
        let place = format!("{path}:{}", index + 1);
        if line.starts_with("ldap") && line.contains("://") {
            return Err(setting_error(&place, "ldap", "is not spoken"));
        }
        let (name, value) =
            line.split_once('=').ok_or_else(|| setting_error(&place, line, "is not followed by '=' and a value"))?;
        if name == "service" || name == "servicefile" {
            return Err(setting_error(&place, name, "may not stand in a file of services"));
        }
        // COMPAT: the first value of a setting counts.
        settings.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# services\n[other]\nhost=x\n\n[mine]\nhost=h\nport=1\nhost=second\n dbname=d \n[mine]\nuser=u\n";

    #[test]
    fn a_service_is_one_section() {
        let found = section(TEXT, "mine", "f").expect("it can be read").expect("it is there");
        let shown: Vec<String> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["dbname=d", "host=h", "port=1"]);
        assert_eq!(section(TEXT, "no", "f").expect("it can be read"), None);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = |text: &str| section(text, "a", "f").expect_err("a mistake").to_string();
        assert_eq!(error("[a]\nhost"), "f:2: the setting 'host' is not followed by '=' and a value");
        assert_eq!(error("[a]\n\nservice=b"), "f:3: the setting 'service' may not stand in a file of services");
        assert_eq!(error("[a]\nldap://x"), "f:2: the setting 'ldap' is not spoken");
        let error = settings("a", &[]).expect_err("no files").to_string();
        assert_eq!(error, "the service 'a' is not defined (there is no file of services)");
    }
}
