import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DOCKERFILE, parseBaseImages } from "../../build/base-images.ts";
import { ROOT } from "../../build/bundle.ts";

const dockerfile = await readFile(DOCKERFILE, "utf8");

/**
 * An image reference by the OCI distribution specification; an empty digest or another hash than SHA-256 does
 * not match.
 */
const REFERENCE = /^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;

describe("the Dockerfile", () => {
  test("builds from its two base images, each by digest", () => {
    expect(parseBaseImages(dockerfile)).toMatchObject([
      {
        registry: "docker.io",
        repository: "library/node",
        tag: "24-trixie-slim",
        argument: "BUILD_IMAGE_DIGEST",
      },
      {
        registry: "gcr.io",
        repository: "distroless/nodejs24-debian13",
        tag: "nonroot",
        argument: "RUNTIME_IMAGE_DIGEST",
      },
    ]);
  });

  test("names no image unless a digest is recorded", () => {
    for (const line of dockerfile.match(/^FROM .*/gm) ?? []) {
      const [, before = "", argument = ""] = /(\S+@)\$\{(\w+):\?[\w-]+\}/.exec(line) ?? [];
      expect(REFERENCE.test(before), line).toBe(false);
      expect(REFERENCE.test(`${before}sha256:${"0".repeat(64)}`), line).toBe(true);
      // A build argument without a default is empty. One with another default than a digest is rejected when
      // it is read.
      expect(dockerfile).toMatch(new RegExp(`^ARG ${argument}(=sha256:[0-9a-f]{64})?$`, "m"));
    }
  });

  const digest = (argument: string): string => `@\${${argument}}`;

  test.each([
    ["FROM node:24-trixie-slim", "does not name an image as NAME:TAG@"],
    [`FROM node${digest("A")}`, "does not name an image as NAME:TAG@"],
    [`FROM node:24${digest("A")}`, "has no line ARG A"],
    [`ARG A=latest\nFROM node:24${digest("A")}`, 'ARG A: "latest" is not a digest'],
    [`ARG A=sha256:0\nFROM node:24${digest("A")}`, 'ARG A: "sha256:0" is not a digest'],
    ["RUN true", "has no FROM"],
  ])("%j is rejected: %s", (text, message) => {
    expect(() => parseBaseImages(text)).toThrow(message);
  });
});

const INDEX = "application/vnd.oci.image.index.v1+json";
const index = (name: string): string =>
  JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [{ digest: `sha256:${name}` }] });
const digestOf = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;

/** How a test's registry differs from a correct one. */
interface Fault {
  readonly status?: number;
  readonly type?: string;
  readonly body?: string;
  readonly digest?: string;
  readonly realm?: string;
  readonly token?: string;
}

describe("npm run base-images", () => {
  let server: Server;
  let url = "";
  let fault: Fault = {};
  let asked: string[] = [];
  let folder = "";
  let file = "";

  /**
   * Answers as a registry that requires a token even for anonymous clients, like Docker Hub, and issues it
   * itself.
   */
  function answer({ url: path = "", headers }: IncomingMessage) {
    const at = new URL(path, url);
    asked.push(at.pathname + at.search);
    if (at.pathname === "/token") {
      const token = fault.token ?? JSON.stringify({ token: `for ${at.searchParams.get("scope")}` });
      return { status: 200, type: "application/json", body: token, headers: {} };
    }
    const [, repository = "", tag = ""] = /^\/v2\/(.+)\/manifests\/(.+)$/.exec(at.pathname) ?? [];
    const scope = `repository:${repository}:pull`;
    if (headers.authorization !== `Bearer for ${scope}`) {
      const realm = fault.realm ?? `${url}/token`;
      return {
        status: 401,
        type: "application/json",
        body: "{}",
        headers: { "www-authenticate": `Bearer realm="${realm}",service="test",scope="${scope}"` },
      };
    }
    const isIndex = String(headers.accept).includes(INDEX);
    const body = fault.body ?? index(`${repository}:${tag}`);
    return {
      status: isIndex ? (fault.status ?? 200) : 406,
      type: fault.type ?? INDEX,
      body,
      headers: { "docker-content-digest": fault.digest ?? digestOf(body) },
    };
  }

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { status, type, body, headers } = answer(request);
      response.writeHead(status, { "content-type": type, ...headers }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  beforeEach(async () => {
    fault = {};
    asked = [];
    folder = await mkdtemp(join(tmpdir(), "base-images-"));
    file = join(folder, "Dockerfile");
    await writeFile(file, dockerfile.replaceAll(/^(ARG \w+)=.*$/gm, "$1"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function record(...flags: readonly string[]): Promise<{ code: number; output: string }> {
    const mirrors = ["docker.io", "gcr.io"].flatMap((name) => ["--mirror", `${name}=${url}`]);
    const args = [join(ROOT, "build/base-images.ts"), "--dockerfile", file, ...mirrors, ...flags];
    return new Promise((resolve) => {
      execFile(process.execPath, args, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
      );
    });
  }

  const digests = {
    node: digestOf(index("library/node:24-trixie-slim")),
    distroless: digestOf(index("distroless/nodejs24-debian13:nonroot")),
  };

  test("records the digest of each image's index, and finds it afterwards", async () => {
    expect(await record("--check")).toMatchObject({
      code: 1,
      output: expect.stringContaining("npm run base-images"),
    });
    expect(await record()).toMatchObject({ code: 0 });
    const text = await readFile(file, "utf8");
    expect(parseBaseImages(text).map(({ digest }) => digest)).toEqual([digests.node, digests.distroless]);
    expect(text.replaceAll(/^(ARG \w+)=.*$/gm, "$1")).toBe(dockerfile.replaceAll(/^(ARG \w+)=.*$/gm, "$1"));
    expect(await record("--check")).toMatchObject({ code: 0 });
    expect(asked).toContain("/token?service=test&scope=repository%3Alibrary%2Fnode%3Apull");
  });

  test("replaces the recorded digest when a tag has moved", async () => {
    await writeFile(file, dockerfile.replaceAll(/^(ARG \w+)(=.*)?$/gm, `$1=sha256:${"0".repeat(64)}`));
    expect(await record("--check")).toMatchObject({ code: 1 });
    expect(await record()).toMatchObject({ code: 0 });
    expect(parseBaseImages(await readFile(file, "utf8")).map(({ digest }) => digest)).toEqual([
      digests.node,
      digests.distroless,
    ]);
  });

  const FAULTS: readonly (readonly [string, Fault, string])[] = [
    ["has no such tag", { status: 404 }, "answers 404"],
    ["is down", { status: 503 }, "answers 503"],
    [
      "has it for one platform alone",
      { type: "application/vnd.oci.image.manifest.v1+json" },
      "in place of an index of platforms",
    ],
    ["says another digest than it answers", { digest: `sha256:${"1".repeat(64)}` }, "says sha256:1111"],
    ["answers no JSON", { body: "<html>" }, "is not valid JSON"],
    ["answers an index of nothing", { body: '{"manifests":[]}' }, "answers what cannot be read"],
    ["answers without an end", { body: `"${"x".repeat(5_000_000)}"` }, "answers more than 4194304 bytes"],
    ["hands out no token", { token: "{}" }, "answers what cannot be read"],
    ["sends for its token elsewhere, by another protocol", { realm: "https://127.0.0.1:1/" }, "for tokens"],
  ];

  test.each(FAULTS)("records nothing from a registry that %s, and says so", async (_what, given, message) => {
    fault = given;
    const before = await readFile(file, "utf8");
    const { code, output } = await record();
    expect(code).toBe(1);
    expect(output).toContain("No digest was recorded");
    expect(output).toContain("docker.io/library/node:24-trixie-slim");
    expect(output).toContain(message);
    expect(await readFile(file, "utf8")).toBe(before);
    expect(await readdir(folder)).toEqual(["Dockerfile"]);
  });

  test("records nothing if one of the two registries is unreachable", async () => {
    const before = await readFile(file, "utf8");
    const { code, output } = await record("--mirror", "gcr.io=http://127.0.0.1:1");
    expect([code, output]).toEqual([
      1,
      expect.stringContaining("gcr.io/distroless/nodejs24-debian13:nonroot"),
    ]);
    expect(output).toContain("cannot be reached");
    expect(await readFile(file, "utf8")).toBe(before);
  });

  test("rejects a mirror that is not a URL", async () => {
    expect(await record("--mirror", "gcr.io=mirror")).toMatchObject({
      code: 1,
      output: expect.stringContaining("give REGISTRY=URL"),
    });
  });
});
