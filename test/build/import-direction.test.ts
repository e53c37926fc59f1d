import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);

/** The fields of Biome's JSON report that are read here. */
const LintReport = z.object({
  diagnostics: z.array(z.object({ category: z.string(), location: z.object({ path: z.string() }) })),
});

const refused = [
  ["core", "#clouds/cloud.ts"],
  ["core", "#kube/client/transport.ts"],
  ["core", "node:fs"],
  ["core", "yaml"],
  ["core", "#core/digitalocean/firewall/watch.ts"],
  ["platforms", "#clouds/cloud.ts"],
  ["platforms", "#config/cluster.ts"],
  ["platforms", "#relay/relay.ts"],
  ["clouds", "#kube/client/transport.ts"],
  ["clouds", "#config/cluster.ts"],
  ["clouds", "#functions/node.ts"],
  ["clouds", "#relay/relay.ts"],
  ["clouds", "#emulators/harness/control-plane.ts"],
  ["clouds", "@kubernetes/client-node"],
  ["kube", "#clouds/cloud.ts"],
  ["kube", "#platforms/keep-fresh.ts"],
  ["kube", "#config/cluster.ts"],
  ["kube", "#functions/node.ts"],
  ["kube", "#relay/relay.ts"],
  ["kube", "@aws-sdk/client-ec2"],
  ["kube", "@kubernetes/client-node"],
  ["config", "#functions/node.ts"],
  ["config", "#relay/relay.ts"],
  ["config", "@kubernetes/client-node"],
  ["functions", "#relay/relay.ts"],
  ["functions", "#cli/main.ts"],
  ["functions", "#functions/node.ts"],
  ["functions", "#emulators/harness/control-plane.ts"],
  ["functions", "@kubernetes/client-node"],
  ["relay", "#clouds/cloud.ts"],
  ["relay", "#functions/node.ts"],
  ["relay", "#cli/main.ts"],
  ["relay", "#sweep/sweep-cluster.ts"],
  ["kube", "#platforms/invoker.ts"],
  ["config", "#delivery/batch-event.ts"],
  ["delivery", "#relay/relay.ts"],
  ["delivery", "#sweep/sweep-cluster.ts"],
  ["delivery", "#functions/parts/dependencies.ts"],
  ["delivery", "#clouds/cloud.ts"],
  ["delivery", "#kube/client/transport.ts"],
  ["sweep", "#relay/relay.ts"],
  ["sweep", "#functions/parts/dependencies.ts"],
  ["sweep", "#clouds/cloud.ts"],
  ["sweep", "#cli/main.ts"],
  ["sweep", "@aws-sdk/client-lambda"],
  ["emulators", "#functions/node.ts"],
  ["emulators", "#relay/relay.ts"],
  ["emulators", "#cli/main.ts"],
  ["emulators", "#clouds/cloud.ts"],
  ["cli", "#functions/node.ts"],
  ["clouds", "#tracing/tracer.ts"],
  ["kube", "#tracing/tracer.ts"],
  ["tracing", "#functions/parts/dependencies.ts"],
  ["tracing", "#relay/relay.ts"],
  ["tracing", "#clouds/cloud.ts"],
] as const;

const allowed = [
  ["core", "zod"],
  ["core", "#core/node/node.ts"],
  ["clouds", "#core/instance.ts"],
  ["kube", "#core/decision.ts"],
  ["config", "#clouds/providers.ts"],
  ["config", "#kube/client/transport.ts"],
  ["functions", "#core/event.ts"],
  ["functions", "#clouds/cloud.ts"],
  ["functions", "#kube/client/transport.ts"],
  ["functions", "#sweep/sweep-cluster.ts"],
  ["functions", "#platforms/invoker.ts"],
  ["delivery", "#core/event.ts"],
  ["delivery", "#tracing/tracer.ts"],
  ["functions", "#tracing/tracer.ts"],
  ["tracing", "#core/trace-context.ts"],
  ["delivery", "#config/cluster.ts"],
  ["delivery", "@aws-sdk/client-lambda"],
  ["sweep", "#platforms/invoker.ts"],
  ["sweep", "#config/cluster.ts"],
  ["sweep", "#kube/follow/list.ts"],
  ["relay", "#platforms/invoker.ts"],
  ["relay", "#kube/client/transport.ts"],
  ["relay", "@kubernetes/client-node"],
  ["emulators", "#core/node/node.ts"],
  ["cli", "#functions/parts/controller-function.ts"],
  ["cli", "#relay/relay.ts"],
] as const;

describe("the direction of imports", () => {
  let folder = "";
  let reported: ReadonlySet<string> = new Set();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "import-direction-"));
    await copyFile(join(ROOT, "biome.json"), join(folder, "biome.json"));
    for (const [from, imported] of [...refused, ...allowed]) {
      const source = `import { something } from "${imported}";\nexport const used = something;\n`;
      await mkdir(dirname(join(folder, fileOf(from, imported))), { recursive: true });
      await writeFile(join(folder, fileOf(from, imported)), source);
    }
    reported = await restrictedImports(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(refused)("%s may not import %s", (from, imported) => {
    expect([...reported]).toContain(fileOf(from, imported));
  });

  test.each(allowed)("%s may import %s", (from, imported) => {
    expect([...reported]).not.toContain(fileOf(from, imported));
  });
});

const outsideOfCore = [
  ["process", "export const value = process.env;"],
  ["node:fs", 'import { readFileSync } from "node:fs";\nexport const value = readFileSync;'],
  ["fetch", "export const value = fetch;"],
  ["setTimeout", "export const value = setTimeout;"],
  ["Buffer", "export const value = Buffer;"],
] as const;

describe("the core's compiler settings", () => {
  test("compiles a pure file", async () => {
    expect(await compileInCore("export const value = [1, 2].map((n) => n + 1);")).toBe("");
  });

  test.each(outsideOfCore)("rejects a file that uses %s", async (_, source) => {
    expect(await compileInCore(source)).toMatch(/error TS(2304|2307|2580|2591|2592|2584)/);
  });
});

function fileOf(from: string, imported: string): string {
  const folder = from === "functions" ? from : `src/${from}`;
  return `${folder}/${imported.replaceAll(/[^a-z0-9]+/g, "-").replace(/^-/, "")}.ts`;
}

async function restrictedImports(folder: string): Promise<ReadonlySet<string>> {
  const biome = join(ROOT, "node_modules/.bin/biome");
  const args = ["lint", "--vcs-enabled=false", "--reporter=json", "--max-diagnostics=none", "."];
  const { stdout } = await run(biome, args, { cwd: folder }).catch((error) => error);
  const { diagnostics } = LintReport.parse(JSON.parse(stdout));
  const restricted = diagnostics.filter(({ category }) => category === "lint/style/noRestrictedImports");
  return new Set(restricted.map(({ location }) => location.path));
}

/** Compiles one source with the core's own settings; returns the compiler's messages. */
async function compileInCore(source: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "core-compile-"));
  try {
    await writeFile(join(folder, "source.mts"), source);
    const config = { extends: join(ROOT, "src/core/tsconfig.json"), include: ["source.mts"] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const { stdout } = await run(join(ROOT, "node_modules/.bin/tsc"), ["-p", folder]).catch((error) => error);
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
