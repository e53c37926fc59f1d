import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { ROOT } from "./bundle.ts";

/** A base image of the Dockerfile. */
export interface BaseImage {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
  /** The build argument with the digest. */
  readonly argument: string;
  /** The digest in the Dockerfile; undefined if it has none, so that the image is not built. */
  readonly digest: string | undefined;
}

/** The URLs of registries by name, for mirrors; default: `https://NAME`. */
export type Mirrors = Readonly<Record<string, string>>;

export const DOCKERFILE = join(ROOT, "infra/container/Dockerfile");

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const FROM = /^FROM (?:--platform=\S+ )?(?<image>\S+?)@\$\{(?<argument>\w+)(?::\?[^}]*)?\}(?: AS \w+)?$/;
// The registry of images without a registry's name, and the host of its API.
const DOCKER_HUB = "docker.io";
const DOCKER_HUB_API = "https://registry-1.docker.io";

const INDEX_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];
const MAX_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

const Index = z.object({ manifests: z.array(z.object({ digest: z.string() })).min(1) });
const Token = z.union([
  z.object({ token: z.string().min(1) }).transform(({ token }) => token),
  z.object({ access_token: z.string().min(1) }).transform(({ access_token: token }) => token),
]);

/** Returns the base images of a Dockerfile; throws if one has no tag and no digest by build argument. */
export function parseBaseImages(dockerfile: string): BaseImage[] {
  const lines = dockerfile.split("\n").filter((line) => line.startsWith("FROM "));
  if (lines.length === 0) throw new Error("the Dockerfile has no FROM");
  return lines.map((line) => {
    const { image = "", argument = "" } = FROM.exec(line)?.groups ?? {};
    const [, registry = DOCKER_HUB, name = "", tag = ""] =
      /^(?:([\w-]+\.[\w.-]+(?::\d+)?)\/)?([a-z0-9][\w./-]*):([\w.-]+)$/.exec(image) ?? [];
    if (tag === "") throw new Error(`"${line}" does not name an image as NAME:TAG@\${ARGUMENT}`);
    const repository = registry === DOCKER_HUB && !name.includes("/") ? `library/${name}` : name;
    return { registry, repository, tag, argument, digest: findRecordedDigest(dockerfile, argument) };
  });
}

/**
 * Returns the Dockerfile with the current digests of all its images. Rejects with the errors of all images,
 * if any.
 */
export async function recordDigests(dockerfile: string, mirrors: Mirrors): Promise<string> {
  const images = parseBaseImages(dockerfile);
  const resolved = await Promise.allSettled(images.map((image) => resolveDigest(image, mirrors)));
  const faults = resolved.flatMap((each) => (each.status === "rejected" ? [formatCause(each.reason)] : []));
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return resolved.reduce((text, each, index) => {
    const name = images[index]?.argument ?? "";
    const digest = each.status === "fulfilled" ? each.value : "";
    return text.replace(new RegExp(`^ARG ${name}(=.*)?$`, "m"), `ARG ${name}=${digest}`);
  }, dockerfile);
}

function findRecordedDigest(dockerfile: string, argument: string): string | undefined {
  const [, given] = new RegExp(`^ARG ${argument}(?:=(.*))?$`, "m").exec(dockerfile) ?? [];
  if (given === undefined) {
    if (new RegExp(`^ARG ${argument}$`, "m").test(dockerfile)) return undefined;
    throw new Error(`the Dockerfile has no line ARG ${argument}`);
  }
  if (!DIGEST.test(given)) throw new Error(`ARG ${argument}: "${given}" is not a digest: sha256:…`);
  return given;
}

/**
 * Returns the digest of an image's index, which covers all platforms, computed from the registry's answer.
 */
async function resolveDigest({ registry, repository, tag }: BaseImage, mirrors: Mirrors): Promise<string> {
  const image = `${registry}/${repository}:${tag}`;
  const api = mirrors[registry] ?? (registry === DOCKER_HUB ? DOCKER_HUB_API : `https://${registry}`);
  const url = new URL(`/v2/${repository}/manifests/${tag}`, api);
  try {
    const response = await request(url, undefined);
    const answer =
      response.status === 401 ? await request(url, await fetchAnonymousToken(response, url)) : response;
    if (!answer.ok) throw new Error(`answers ${answer.status}`);
    const type = answer.headers.get("content-type")?.split(";")[0] ?? "nothing";
    if (!INDEX_TYPES.includes(type)) throw new Error(`answers ${type} in place of an index of platforms`);
    const body = await readBody(answer);
    Index.parse(JSON.parse(body.toString("utf8")));
    const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
    const said = answer.headers.get("docker-content-digest");
    if (said !== null && said !== digest) throw new Error(`says ${said} of what is ${digest}`);
    return digest;
  } catch (cause) {
    throw new Error(`${image}: ${url.host} ${formatCause(cause)}`, { cause });
  }
}

async function request(url: URL, token: string | undefined): Promise<Response> {
  const headers = { accept: INDEX_TYPES.join(", "), ...(token && { authorization: `Bearer ${token}` }) };
  return fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((cause) => {
    throw new Error(`cannot be reached: ${formatCause(cause.cause ?? cause)}`, { cause });
  });
}

/**
 * Requests an anonymous token from the address in the registry's 401; over HTTPS, unless the registry itself
 * is reached without.
 */
async function fetchAnonymousToken(refusal: Response, url: URL): Promise<string> {
  const challenge = refusal.headers.get("www-authenticate") ?? "";
  const { realm, ...query } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
  );
  if (!/^bearer /i.test(challenge) || realm === undefined)
    throw new Error("wants a sign-in that is not a token");
  const from = new URL(realm);
  if (from.protocol !== url.protocol) throw new Error(`names ${from.origin} for tokens`);
  for (const [key, value] of Object.entries(query)) from.searchParams.set(key, value);
  const answer = await request(from, undefined);
  if (!answer.ok) throw new Error(`names ${from.host} for tokens, which answers ${answer.status}`);
  return Token.parse(JSON.parse((await readBody(answer)).toString("utf8")));
}

async function readBody(answer: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`answers more than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function formatCause(cause: unknown): string {
  if (cause instanceof z.ZodError) return `answers what cannot be read: ${z.prettifyError(cause)}`;
  return cause instanceof Error ? cause.message : String(cause);
}

function parseMirror(text: string): [string, string] {
  const [, registry = "", url = ""] = /^([^=/]+)=(https?:\/\/[^/]+)\/?$/.exec(text) ?? [];
  if (url === "")
    throw new Error(`--mirror ${text}: give REGISTRY=URL, such as docker.io=https://mirror.example.com`);
  return [registry, url];
}

/**
 * Records the digests in a Dockerfile, or with `check` verifies that they are recorded and current. Resolves
 * to the exit code.
 */
async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      check: { type: "boolean", default: false },
      dockerfile: { type: "string", default: DOCKERFILE },
      mirror: { type: "string", multiple: true, default: [] },
    },
  });
  const mirrors = Object.fromEntries(values.mirror.map(parseMirror));
  const before = await readFile(values.dockerfile, "utf8");
  const after = await recordDigests(before, mirrors);
  for (const { registry, repository, tag, digest } of parseBaseImages(after))
    process.stdout.write(`${registry}/${repository}:${tag} ${digest}\n`);
  if (after === before) return 0;
  if (values.check) {
    process.stderr.write(`${values.dockerfile} records other digests; run npm run base-images\n`);
    return 1;
  }
  // The file is replaced whole or not at all.
  await writeFile(`${values.dockerfile}.new`, after);
  await rename(`${values.dockerfile}.new`, values.dockerfile);
  return 0;
}

if (import.meta.main) {
  process.exitCode = await main(process.argv.slice(2)).catch((cause) => {
    process.stderr.write(`No digest was recorded.\n${formatCause(cause)}\n`);
    return 1;
  });
}
