import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as z from "zod";

// Writes the Go module of one version of Kubernetes: `node test/control-plane/write-module.ts v1.37.1`. The
// module's versions come from Kubernetes' own go.mod: its staging modules have its version with a 0 for the
// 1, and etcd has the version of the client in Kubernetes.

const [version = ""] = process.argv.slice(2);
const [, minor, patch] = /^v1\.(\d+)\.(\d+)$/.exec(version) ?? [];
if (minor === undefined || patch === undefined)
  throw new Error(`"${version}" is not a version of Kubernetes: name one as v1.37.1`);

/** The first version of Go that supports `tool` in a go.mod. */
const FIRST_WITH_TOOLS = "1.24.0";

const run = promisify(execFile);
const GoModule = z.object({
  Go: z.string(),
  Require: z.array(z.object({ Path: z.string(), Version: z.string() })),
  Replace: z.array(z.object({ Old: z.object({ Path: z.string() }), New: z.object({ Path: z.string() }) })),
});

const { GoMod } = JSON.parse(
  (await run("go", ["mod", "download", "-json", `k8s.io/kubernetes@${version}`])).stdout,
);
const kubernetes = GoModule.parse(JSON.parse((await run("go", ["mod", "edit", "-json", GoMod])).stdout));
const etcd = kubernetes.Require.find(({ Path }) => Path === "go.etcd.io/etcd/client/v3")?.Version;
const staging = kubernetes.Replace.filter(({ New }) => New.Path.startsWith("./staging/"));

const folder = fileURLToPath(new URL(`versions/1.${minor}`, import.meta.url));
const goMod = `module serverless-ccm.test/control-plane/1.${minor}

go ${atLeast(kubernetes.Go, FIRST_WITH_TOOLS)}

tool (
	go.etcd.io/etcd/etcdutl/v3
	go.etcd.io/etcd/server/v3
	k8s.io/kubernetes/cmd/kube-apiserver
)

require (
	go.etcd.io/etcd/etcdutl/v3 ${etcd}
	go.etcd.io/etcd/server/v3 ${etcd}
	k8s.io/kubernetes ${version}
)

// k8s.io/kubernetes keeps these modules in its own tree; outside it they are the published ones.
replace (
${staging.map(({ Old }) => `\t${Old.Path} => ${Old.Path} v0.${minor}.${patch}`).join("\n")}
)
`;
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
await writeFile(`${folder}/go.mod`, goMod);
await run("go", ["mod", "tidy"], { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
process.stdout.write(`${folder}: ${(await readFile(`${folder}/go.mod`, "utf8")).split("\n").length} lines\n`);

function atLeast(version: string, least: string): string {
  return Number(version.split(".")[1]) < Number(least.split(".")[1]) ? least : version;
}
