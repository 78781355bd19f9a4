/** A certificate authority of a test, and certificates that it signs for names. */
import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class TestAuthority {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-ca-"));
  readonly certificate = join(this.folder, "ca.pem");
  readonly #key = join(this.folder, "ca.key");

  constructor() {
    this.#openssl(
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${this.#key} -out ${this.certificate} -days 2 -subj /CN=svc-test-ca`,
    );
  }

  get pem(): string {
    return readFileSync(this.certificate, "utf8");
  }

  /** Paths of PEM files for a host. A certificate of 0 days expires within a second. */
  issue(host: string, days = 2): { cert: string; key: string } {
    const [cert, key, request, extensions] = ["pem", "key", "csr", "ext"].map((end) =>
      join(this.folder, `${host}.${end}`),
    ) as [string, string, string, string];
    writeFileSync(extensions, `subjectAltName=DNS:${host}\n`);
    this.#openssl(
      `req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${key} -out ${request} -subj /CN=${host}`,
    );
    this.#openssl(
      `x509 -req -in ${request} -CA ${this.certificate} -CAkey ${this.#key} -CAcreateserial -out ${cert} -days ${days} -extfile ${extensions}`,
    );
    return { cert, key };
  }

  /** Of the key in a host's certificate, as browsers take it to trust exactly that one. */
  keyHash(host: string): string {
    const { publicKey } = new X509Certificate(readFileSync(join(this.folder, `${host}.pem`)));
    return createHash("sha256")
      .update(publicKey.export({ type: "spki", format: "der" }))
      .digest("base64");
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #openssl(words: string): void {
    execFileSync("openssl", words.split(" "), { stdio: "pipe" });
  }
}
