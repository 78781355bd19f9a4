/** An upload with progress; `fetch` can't report what it has sent. */
import { HostError, type Uploaded, type UploadOptions } from "../host.ts";
import type { Requests } from "./requests.ts";

/** Sends the file's bytes as they are, and its name in the query. */
export function upload(
  requests: Requests,
  url: string,
  file: File,
  options: UploadOptions,
): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const type = file.type === "" ? "application/octet-stream" : file.type;
    const abort = () => request.abort();
    options.signal.addEventListener("abort", abort, { once: true });
    const settle = (finish: () => void) => {
      options.signal.removeEventListener("abort", abort);
      finish();
    };
    request.upload.onprogress = ({ loaded }) => options.progress(loaded);
    request.onload = () =>
      settle(() => {
        try {
          const {
            sha256,
            bytes,
            name,
            mime_type: mimeType,
          } = requests.unwrap(request.status, request.responseText) as Uploaded;
          resolve({ sha256, bytes, name, mime_type: mimeType });
        } catch (error) {
          reject(error);
        }
      });
    request.onerror = () =>
      settle(() => reject(new HostError("offline", "The upload was interrupted. Try again.")));
    request.onabort = () => settle(() => reject(new HostError("cancelled", "The upload was cancelled.")));
    request.open("POST", url);
    request.setRequestHeader("content-type", type);
    for (const [name, value] of Object.entries(requests.headers("POST")))
      request.setRequestHeader(name, value);
    request.send(file);
  });
}
