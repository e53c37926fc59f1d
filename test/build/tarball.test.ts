import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { getBuiltCommandLine } from "#test/build/shared-build.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);

const Packed = z.tuple([z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })]);
const Bill = z.object({
  bomFormat: z.literal("CycloneDX"),
  specVersion: z.literal("1.6"),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string().regex(/^pkg:npm\/(%40[^/@]+\/)?[^/@]+@\S+$/),
      licenses: z.tuple([z.object({ expression: z.string() })]),
    }),
  ),
});
const PUBLISHED =
  /^(package\.json|LICENSE|README\.md|dist\/(serverless-ccm(-[\w-]+)?\.mjs|serverless-ccm\.cdx\.json|THIRD-PARTY-NOTICES\.txt)|infra\/.+|docs\/(examples|runbooks)\/.+|docs\/reference\/codes\.md)$/;

describe("the packed tarball, installed into an empty folder", () => {
  let folder = "";
  let files: readonly string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tarball-"));
    const stage = join(folder, "stage");
    for (const name of ["package.json", "LICENSE", "README.md", "infra", "docs", "src"]) {
      await cp(join(ROOT, name), join(stage, name), { recursive: true });
    }
    await cp(await getBuiltCommandLine(), join(stage, "dist"), { recursive: true });
    // Without the prepack script, which would build again into these sources.
    const { stdout } = await run(
      "npm",
      ["pack", "--json", "--ignore-scripts", "--pack-destination", folder],
      { cwd: stage },
    );
    const [packed] = Packed.parse(JSON.parse(stdout));
    files = packed.files.map(({ path }) => path);
    const home = join(folder, "home");
    await mkdir(home);
    await writeFile(join(home, "package.json"), "{}");
    const install = ["install", "--offline", "--no-audit", "--no-fund", join(folder, packed.filename)];
    await run("npm", install, { cwd: home });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function serverlessCcm(args: readonly string[], input: string) {
    const command = join(folder, "home/node_modules/.bin/serverless-ccm");
    const child = spawn(command, args, { cwd: join(folder, "home") });
    child.stdin.end(input);
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve) => child.once("close", resolve)),
    ]);
    return { stdout, stderr, code };
  }

  test("contains exactly the bundle, its notices, manifests and examples", () => {
    expect(files).toEqual(
      expect.arrayContaining(["dist/serverless-ccm.mjs", "dist/THIRD-PARTY-NOTICES.txt", "LICENSE"]),
    );
    expect(files.filter((file) => !PUBLISHED.test(file))).toEqual([]);
  });

  test("lists the bundled packages in a bill of materials, equal to its notices", async () => {
    const installed = join(folder, "home/node_modules/serverless-ccm");
    const bill = JSON.parse(await readFile(join(installed, "dist/serverless-ccm.cdx.json"), "utf8"));
    const notices = await readFile(join(installed, "dist/THIRD-PARTY-NOTICES.txt"), "utf8");
    const listed = Bill.parse(bill).components.map(
      ({ name, version, licenses: [{ expression }] }) => `${name} ${version} (${expression})`,
    );
    const noticed = [...notices.matchAll(/^={80}\n(.+ \S+ \(.+\))\n={80}$/gm)].map(([, line]) => line);
    expect(listed.length).toBeGreaterThan(10);
    expect(listed.toSorted()).toEqual(noticed.toSorted());
  });

  test("runs --help", async () => {
    const { stdout, code } = await serverlessCcm(["--help"], "");
    expect(code).toBe(0);
    for (const command of ["run", "relay", "demo", "decide"])
      expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, "m"));
  });

  test("decides on the example event", async () => {
    const example = await readFile(join(ROOT, "docs/examples/event.json"), "utf8");
    const { stdout, stderr, code } = await serverlessCcm(["decide"], example);
    expect([stderr, code]).toEqual(["", 0]);
    const document = JSON.parse(example);
    const decisions = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(decisions).toHaveLength((document.event ?? document).objects.length);
    expect(decisions.map(({ kind }) => kind)).toContain("change");
  });

  test("serves the runbooks", async () => {
    const cluster = {
      ...{ name: "blue", server: "https://127.0.0.1:1" },
      cloud: { provider: "memory", instancesFile: "none.json" },
      signIn: { relay: { kind: "token-file", file: join(folder, "token") } },
    };
    await writeFile(join(folder, "token"), "token");
    await writeFile(join(folder, "clusters.yaml"), JSON.stringify({ clusters: [cluster] }));
    const command = join(folder, "home/node_modules/.bin/serverless-ccm");
    const flags = [
      "--clusters-file",
      join(folder, "clusters.yaml"),
      "--function-prefix",
      "none-",
      "--port",
      "0",
    ];
    const aws = { AWS_REGION: "eu-central-1", AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" };
    const child = spawn(command, ["relay", ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, ...aws, AWS_ENDPOINT_URL_LAMBDA: "http://127.0.0.1:1" },
    });
    const ended = once(child, "close");
    try {
      let url = "";
      for await (const line of createInterface(child.stderr)) {
        const { event, url: served } = JSON.parse(line);
        if (event !== "Serving") continue;
        url = served;
        break;
      }
      const answer = await fetch(`${url}/runbooks/relay-gone`);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("<h1>RelayGone</h1>");
    } finally {
      child.kill("SIGTERM");
      child.stderr.resume();
      await ended;
    }
  });

  test("exits with code 2 on invalid input", async () => {
    const { stderr, code } = await serverlessCcm(["decide"], "{}");
    expect(code).toBe(2);
    expect(stderr).toContain("version");
  });
});
