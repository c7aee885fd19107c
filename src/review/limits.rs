//! Which limits the system holds a worker to, as the system itself says.

use crate::text::human_bytes;

/// The limits in `/proc/PID/limits`, in words; none where the system does not say.
pub(super) fn of(pid: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    in_words(&text)
}

fn in_words(text: &str) -> Vec<String> {
    let hard = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let memory = hard("Max address space").map(|bytes| format!("{} of memory", human_bytes(bytes)));
    let time = hard("Max cpu time").map(|seconds| format!("{seconds} s of CPU"));
    let files = hard("Max open files").map(|count| format!("{count} open files"));
    let written = hard("Max file size").map(|bytes| match bytes {
        0 => "no writing to files".into(),
        bytes => format!("files of {}", human_bytes(bytes)),
    });
    [memory, time, files, written]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_what_is_unlimited_is_none() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max cpu time              120                  120                  seconds   \n\
            Max file size             0                    0                    bytes     \n\
            Max open files            128                  128                  files     \n\
            Max address space         unlimited            unlimited            bytes     \n";
        assert_eq!(
            in_words(text),
            ["120 s of CPU", "128 open files", "no writing to files"]
        );
        assert_eq!(in_words(""), [""; 0]);
    }
}
