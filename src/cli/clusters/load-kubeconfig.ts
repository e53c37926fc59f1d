import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import * as z from "zod";
import {
  findRefusal,
  KubeconfigDemands,
  KubeconfigError,
  type KubeconfigTrust,
} from "#cli/clusters/kubeconfig-trust.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";

/** A kubeconfig with its context selected, whose demands are trusted. */
export interface LoadedKubeconfig {
  /** The version of the file, which changes when the file is rewritten. */
  readonly version: string;
  readonly config: KubeConfig;
  readonly demands: KubeconfigDemands;
}

/** A hundred contexts with their certificates take 1 MB. */
const MAX_KUBECONFIG_BYTES = 4 * 1024 * 1024;

/**
 * Reads a kubeconfig without executing anything in it; rejects with `KubeconfigError` if it must not be used.
 */
export async function loadKubeconfig(
  file: string,
  context: string | undefined,
  trust: KubeconfigTrust,
): Promise<LoadedKubeconfig> {
  const version = await readKubeconfigVersion(file);
  const written = parseWritten(file, await readText(file));
  const config = await buildKubeConfig(file, written);
  if (context !== undefined) config.setCurrentContext(context);
  const demands = getDemands(file, written, config);
  const refusal = findRefusal(demands, trust);
  if (refusal !== undefined) throw new KubeconfigError(file, refusal);
  return { version, config, demands };
}

/** Returns a text that identifies one state of a file. */
export async function readKubeconfigVersion(file: string): Promise<string> {
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
    throw new KubeconfigError(file, describeFileError(cause), cause);
  }
}

/** The part of a kubeconfig on which the library would act while reading, or that it does not know. */
const WrittenKubeconfig = z.looseObject({
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
type WrittenKubeconfig = z.output<typeof WrittenKubeconfig>;

function parseWritten(file: string, text: string): WrittenKubeconfig {
  try {
    return WrittenKubeconfig.parse(parse(text, { merge: true }));
  } catch (cause) {
    throw toKubeconfigError(file, cause);
  }
}

/**
 * The library gets the parsed content as JSON, so that another YAML parser cannot read the text differently.
 */
async function buildKubeConfig(file: string, written: WrittenKubeconfig): Promise<KubeConfig> {
  // Loads 60 MiB, which a relay without kubeconfigs saves.
  const { KubeConfig } = await import("#cli/clusters/kube-config.ts");
  // The library would read the `token-file` of any user before it can be checked.
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
    throw toKubeconfigError(file, cause);
  }
}

function getDemands(file: string, written: WrittenKubeconfig, config: KubeConfig): KubeconfigDemands {
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
    throw new KubeconfigError(
      file,
      `context "${config.getCurrentContext()}" names a user that does not exist`,
    );
  const parsed = KubeconfigDemands.safeParse({
    ...cluster,
    ...user,
    tokenFile: user === null ? undefined : findTokenFile(file, written, user.name),
  });
  if (parsed.success) return parsed.data;
  throw toKubeconfigError(file, parsed.error);
}

/**
 * Returns the file of the user's token: `createTokenFileReader`, as kubectl knows it, or `token-file` if
 * there is no token.
 */
function findTokenFile(file: string, { users }: WrittenKubeconfig, userName: string): string | undefined {
  const user = users?.find(({ name }) => name === userName)?.user;
  const tokenFile = user?.tokenFile || (user?.token ? undefined : user?.["token-file"]);
  return tokenFile ? resolve(dirname(file), tokenFile) : undefined;
}

function toKubeconfigError(file: string, cause: unknown): KubeconfigError {
  return new KubeconfigError(file, "is not a kubeconfig: clusters, users and contexts are expected", cause);
}
