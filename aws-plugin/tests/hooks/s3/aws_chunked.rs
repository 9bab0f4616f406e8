//! The `aws-chunked` encoding, as a server reads it.

/// Takes an `aws-chunked` body apart: its content, and its trailers.
pub(crate) fn unchunked(mut body: &[u8]) -> (Vec<u8>, Vec<String>) {
    let line = |body: &mut &[u8]| {
        let end = body.windows(2).position(|two| two == b"\r\n").expect("a line");
        let line = String::from_utf8(body[..end].to_vec()).expect("text");
        *body = &body[end + 2..];
        line
    };
    let mut content = Vec::new();
    loop {
        let head = line(&mut body);
        let size = usize::from_str_radix(head.split(';').next().expect("a size"), 16).expect("a size");
        if size == 0 {
            break;
        }
        content.extend_from_slice(&body[..size]);
        assert_eq!(&body[size..size + 2], b"\r\n");
        body = &body[size + 2..];
    }
    let mut trailers = Vec::new();
    while !body.is_empty() {
        trailers.push(line(&mut body));
    }
    trailers.retain(|trailer| !trailer.is_empty());
    (content, trailers)
}
