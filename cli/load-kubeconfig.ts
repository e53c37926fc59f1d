import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import * as z from "zod";
import { KubeconfigError } from "#cli/kubeconfig-error.ts";
import { KubeconfigDemands, type KubeconfigTrust, refusalOf } from "#cli/kubeconfig-trust.ts";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";

/** A kubeconfig with its context chosen, whose demands are within the trust that there is. */
export interface LoadedKubeconfig {
  /** Of the file; another one says that it was written anew. */
  readonly version: string;
  readonly config: KubeConfig;
  readonly demands: KubeconfigDemands;
}

/** A hundred contexts with their certificates are 1 MB. */
const MAX_KUBECONFIG_BYTES = 4 * 1024 * 1024;

/** Reads a kubeconfig and does nothing of what it says; rejects with `KubeconfigError` where it is not to be done. */
export async function loadKubeconfig(
  file: string,
  context: string | undefined,
  trust: KubeconfigTrust,
): Promise<LoadedKubeconfig> {
  const version = await kubeconfigVersion(file);
  const written = parseWritten(file, await readText(file));
  const config = await configOf(file, written);
  if (context !== undefined) config.setCurrentContext(context);
  const demands = demandsOf(file, written, config);
  const refusal = refusalOf(demands, trust);
  if (refusal !== undefined) throw new KubeconfigError(file, refusal);
  return { version, config, demands };
}

/** Tells one state of a file from another. */
export async function kubeconfigVersion(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "unreadable";
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readSmallFile(file, MAX_KUBECONFIG_BYTES);
  } catch (cause) {
    throw new KubeconfigError(file, fileTrouble(cause), cause);
  }
}

/** The part of a kubeconfig that the library would act on by itself while it reads, or does not know. */
const Written = z.looseObject({
  users: z
    .array(
      z.looseObject({
        name: z.string(),
        user: z
          .looseObject({
            token: z.string().nullish(),
            tokenFile: z.string().nullish(),
            "token-file": z.string().nullish(),
          })
          .nullish(),
      }),
    )
    .nullish(),
});
type Written = z.output<typeof Written>;

function parseWritten(file: string, text: string): Written {
  try {
    return Written.parse(parse(text, { merge: true }));
  } catch (cause) {
    throw notOne(file, cause);
  }
}

/** The library gets what was read here, as JSON: what another reader of YAML might see in the text does not count. */
async function configOf(file: string, written: Written): Promise<KubeConfig> {
  // 60 MiB, which a relay whose clusters file names no kubeconfig does without.
  const { KubeConfig } = await import("#cli/kube-config.ts");
  // It reads the files of `token-file`, of any user, before anybody can ask what it is about to do.
  const users = (written.users ?? []).map((each) => ({
    ...each,
    user: { ...each.user, "token-file": undefined },
  }));
  try {
    const config = new KubeConfig();
    config.loadFromString(JSON.stringify({ ...written, users }));
    config.makePathsAbsolute(dirname(file));
    return config;
  } catch (cause) {
    throw notOne(file, cause);
  }
}

function demandsOf(file: string, written: Written, config: KubeConfig): KubeconfigDemands {
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    const contexts = config.getContexts().map(({ name }) => name);
    const known = contexts.join(", ") || "none";
    throw new KubeconfigError(
      file,
      `context "${config.getCurrentContext()}" names no cluster; it has ${known}`,
    );
  }
  const user = config.getCurrentUser();
  const named = config.getContextObject(config.getCurrentContext())?.user;
  if (user === null && named)
    throw new KubeconfigError(file, `context "${config.getCurrentContext()}" names a user that is not there`);
  const parsed = KubeconfigDemands.safeParse({
    ...cluster,
    ...user,
    tokenFile: user === null ? undefined : tokenFileOf(file, written, user.name),
  });
  if (parsed.success) return parsed.data;
  throw notOne(file, parsed.error);
}

/** The file that the user signs in with: `tokenFile`, as kubectl knows it, or `token-file` where there is no token. */
function tokenFileOf(file: string, { users }: Written, userName: string): string | undefined {
  const user = users?.find(({ name }) => name === userName)?.user;
  const tokenFile = user?.tokenFile || (user?.token ? undefined : user?.["token-file"]);
  return tokenFile ? resolve(dirname(file), tokenFile) : undefined;
}

function notOne(file: string, cause: unknown): KubeconfigError {
  return new KubeconfigError(file, "is not a kubeconfig: clusters, users and contexts are expected", cause);
}
