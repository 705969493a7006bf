//! What INFO says of a server, read in one place by all programs.

use std::collections::HashMap;

/// The fields of INFO by name, of however many sections.
pub fn fields(info: &str) -> HashMap<&str, &str> {
    info.lines().filter_map(|line| line.split_once(':')).map(|(n, v)| (n, v.trim_end())).collect()
}

/// Which server it is, and its version.
pub fn product(fields: &HashMap<&str, &str>) -> (&'static str, String) {
    // Valkey and Redict also tell the version of Redis that they are compatible with.
    for (field, name) in
        [("valkey_version", "Valkey"), ("redict_version", "Redict"), ("redis_version", "Redis")]
    {
        if let Some(version) = fields.get(field) {
            return (name, (*version).to_owned());
        }
    }
    ("server", String::new())
}

/// The server's name and version, of INFO server.
pub fn named(info: &str) -> String {
    let (name, version) = product(&fields(info));
    format!("{name} {version}")
}

/// Seconds of CPU that INFO cpu tells: of the process, or with `_main_thread` of this thread.
pub fn cpu_seconds(info: &str, of: &str) -> Option<f64> {
    let fields = fields(info);
    let used = |kind| fields.get(format!("used_cpu_{kind}{of}").as_str())?.parse::<f64>().ok();
    Some(used("user")? + used("sys")?)
}

/// Whether it is a node of a cluster.
pub fn is_node(fields: &HashMap<&str, &str>) -> bool {
    fields.get("cluster_enabled") == Some(&"1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compatible_server_is_called_by_its_own_name() {
        let product = |info| product(&fields(info));
        let valkey = "# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n";
        assert_eq!(product(valkey), ("Valkey", "9.1.2".to_owned()));
        assert_eq!(product("redis_version:7.0.15\r\n"), ("Redis", "7.0.15".to_owned()));
        assert_eq!(product(""), ("server", String::new()));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let info = "used_cpu_sys_children:9\r\nused_cpu_sys:1.5\r\n";
        assert_eq!(fields(info).get("used_cpu_sys"), Some(&"1.5"));
        assert_eq!(fields(info).get("used_cpu"), None);
    }

    #[test]
    fn cpu_time_is_that_of_the_user_and_of_the_system() {
        let info = "used_cpu_sys:1.5\r\nused_cpu_user:2\r\nused_cpu_sys_main_thread:1\r\n";
        assert_eq!((cpu_seconds(info, ""), cpu_seconds(info, "_main_thread")), (Some(3.5), None));
    }
}
