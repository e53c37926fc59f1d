import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { isFault } from "#emulators/ec2/fault.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { type FakeSts, parseDate } from "#test/sts/fake-sts.ts";

/** The user of a principal in the cluster, as in an access entry of EKS. */
export interface AccessEntry {
  readonly roleName: string;
  readonly username: string;
  readonly groups: readonly string[];
}

/** EKS's authenticator, which reviews tokens for an API server. */
export interface EksWebhook {
  /** For `--authentication-token-webhook-config-file`. */
  readonly configFile: string;
  /** Returns the results of the reviews so far: `OK` or the reason. */
  reviews(): readonly string[];
  /** Ends all tokens that were reviewed so far. */
  endTokens(): void;
  /** Milliseconds that are added to the time at which tokens are checked. */
  skewMs: number;
  /** Reviews one token without an API server. */
  review(token: string): Promise<Verdict>;
  close(): Promise<void>;
}

type Verdict =
  | { readonly user: { readonly username: string; readonly groups: readonly string[] } }
  | { readonly error: string };

/** Starts it for an EKS cluster of this name, with its files in `folder`. */
export async function startEksWebhook(options: {
  readonly folder: string;
  readonly clusterName: string;
  readonly sts: Pick<FakeSts, "callerOf">;
  readonly entries: readonly AccessEntry[];
}): Promise<EksWebhook> {
  const seen = new Set<string>();
  const ended = new Set<string>();
  const reviews: string[] = [];
  const authority = await createCertificateAuthority({ name: "eks-webhook" });
  const { certificate, key } = await authority.issueServer();

  async function judge(token: string): Promise<Verdict> {
    const url = urlOf(token);
    if (url === undefined) return { error: "no token of EKS" };
    const fault = faultOf(url, Date.now() + webhook.skewMs);
    if (fault !== undefined) return { error: fault };
    if (ended.has(token)) return { error: "ended" };
    const headers = { host: url.host, "x-k8s-aws-id": options.clusterName };
    const caller = await options.sts.callerOf(url, headers, Date.now() + webhook.skewMs);
    if (typeof caller !== "string") return { error: isFault(caller) ? caller.code : "unknown" };
    const entry = options.entries.find(({ roleName }) => caller.split("/")[1] === roleName);
    return entry === undefined ? { error: "no access entry" } : { user: entry };
  }

  async function review(token: string): Promise<Verdict> {
    const verdict = await judge(token);
    seen.add(token);
    reviews.push("error" in verdict ? verdict.error : "OK");
    return verdict;
  }

  const server = createServer({ cert: certificate, key }, async (request, response) => {
    const { spec } = JSON.parse(await text(request)) as { spec: { token: string } };
    const verdict = await review(spec.token);
    const status =
      "error" in verdict
        ? { authenticated: false, error: verdict.error }
        : { authenticated: true, ...verdict };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const configFile = `${options.folder}/eks-webhook.json`;
  const { port } = server.address() as AddressInfo;
  await writeFile(configFile, JSON.stringify(configOf(port, authority.certificate)));
  const webhook: EksWebhook = {
    configFile,
    reviews: () => [...reviews],
    endTokens() {
      for (const token of seen) ended.add(token);
    },
    skewMs: 0,
    review,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return webhook;
}

const PREFIX = "k8s-aws-v1.";
const VALID_MS = 15 * 60_000;
const HOSTS = /^sts\.[a-z0-9-]+\.amazonaws\.com(\.cn)?$/;

/** All permitted parameters of the URL, in lower case; any other might have a meaning to STS. */
const PARAMETERS: ReadonlySet<string> = new Set([
  "action",
  "version",
  "x-amz-algorithm",
  "x-amz-credential",
  "x-amz-date",
  "x-amz-expires",
  "x-amz-security-token",
  "x-amz-signature",
  "x-amz-signedheaders",
]);

function urlOf(token: string): URL | undefined {
  if (!token.startsWith(PREFIX)) return undefined;
  const text = Buffer.from(token.slice(PREFIX.length), "base64url").toString("utf8");
  return URL.canParse(text) ? new URL(text) : undefined;
}

function faultOf(url: URL, now: number): string | undefined {
  const { protocol, hostname, port, pathname, searchParams } = url;
  if (protocol !== "https:" || !HOSTS.test(hostname) || port !== "") return `host ${hostname}`;
  if (pathname !== "/") return `path ${pathname}`;
  const foreign = [...searchParams.keys()].find((name) => !PARAMETERS.has(name.toLowerCase()));
  if (foreign !== undefined) return `parameter ${foreign}`;
  if (searchParams.get("Action") !== "GetCallerIdentity") return "action";
  const signed = (searchParams.get("X-Amz-SignedHeaders") ?? "").split(";");
  if (!signed.includes("x-k8s-aws-id")) return "header x-k8s-aws-id is not signed";
  const expires = Number(searchParams.get("X-Amz-Expires"));
  if (!(expires >= 0 && expires <= 60)) return "expires";
  const age = now - parseDate(url);
  return age >= 0 && age < VALID_MS ? undefined : "expired";
}

function configOf(port: number, certificateAuthority: string): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "eks",
        cluster: {
          server: `https://127.0.0.1:${port}/review`,
          "certificate-authority-data": Buffer.from(certificateAuthority).toString("base64"),
        },
      },
    ],
    users: [{ name: "kube-apiserver", user: {} }],
    contexts: [{ name: "webhook", context: { cluster: "eks", user: "kube-apiserver" } }],
    "current-context": "webhook",
  };
}
