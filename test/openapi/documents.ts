import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import {
  type ControlPlaneBinaries,
  NODE_CLAIM_DEFINITION,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { formatDocumentFile } from "#test/openapi/operations.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";

/** What the cached documents are made of, besides the server's version. */
const MADE_BY = [NODE_CLAIM_DEFINITION, import.meta.filename];

/** Returns the folder of the OpenAPI documents of a kube-apiserver; undefined if none are cached. */
export async function findOpenApiDocuments(
  binaries: Pick<ControlPlaneBinaries, "kubeApiserver">,
): Promise<string | undefined> {
  const folder = await getFolder(binaries);
  return access(folder).then(
    () => folder,
    () => undefined,
  );
}

/**
 * Returns the folder of the OpenAPI v3 documents that this kube-apiserver serves, one file for each group and version.
 * The first call for a version starts the server, which takes seconds; others find the files in the cache.
 */
export async function getOpenApiDocuments(
  binaries: ControlPlaneBinaries,
  say: (line: string) => void,
): Promise<string> {
  const folder = await getFolder(binaries);
  await makeOnce(folder, async (temporary) => {
    say("reading the OpenAPI documents of kube-apiserver, once (seconds) …");
    await readDocuments(binaries, temporary);
  });
  return folder;
}

async function getFolder({ kubeApiserver }: Pick<ControlPlaneBinaries, "kubeApiserver">): Promise<string> {
  const { stdout } = await promisify(execFile)(kubeApiserver, ["--version"], { timeout: 30_000 });
  const version = /v\d+\.\d+\.\d+\S*/.exec(stdout)?.[0];
  if (version === undefined) throw new Error(`${kubeApiserver} --version printed no version: ${stdout}`);
  const hash = createHash("sha256");
  for (const file of MADE_BY) hash.update(await readFile(file));
  return join(getCacheFolder(), "openapi", `${version}-${hash.digest("hex").slice(0, 8)}`);
}

/** Of a custom resource the document appears shortly after its definition. */
const PUBLISH_TIMEOUT_MS = 60_000;
const NODE_CLAIMS = "apis/karpenter.sh/v1";
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;

async function readDocuments(binaries: ControlPlaneBinaries, to: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "openapi-"));
  const plane = await startKubeApiserver({ folder, binaries, manifests: [NODE_CLAIM_DEFINITION] });
  const admin = connect(await getConnectOptions(plane, "admin"));
  const get = (path: string): Promise<unknown> =>
    askForJson(admin, { method: "GET", path, maxBytes: MAX_DOCUMENT_BYTES });
  try {
    for (const name of await waitForPaths(get)) {
      const document = await get(`/openapi/v3/${name}`);
      await writeFile(join(to, formatDocumentFile(name)), JSON.stringify(document));
    }
  } finally {
    await admin.close();
    await plane.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function waitForPaths(get: (path: string) => Promise<unknown>): Promise<readonly string[]> {
  const deadline = performance.now() + PUBLISH_TIMEOUT_MS;
  for (;;) {
    const { paths } = (await get("/openapi/v3")) as { readonly paths: Readonly<Record<string, unknown>> };
    const names = Object.keys(paths);
    if (names.includes(NODE_CLAIMS)) return names;
    if (performance.now() > deadline)
      throw new Error(`kube-apiserver published no OpenAPI document of ${NODE_CLAIMS}: see its log`);
    await sleep(200);
  }
}
