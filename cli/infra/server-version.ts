import * as z from "zod";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { readAccess } from "#cli/settings.ts";
import { FIRST_BETA_MINOR, getApiVersion } from "#core/authentication/configuration.ts";
import type { ServerVersion } from "#core/authentication/configure.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";
import { connect } from "#kube/client/connect.ts";

export interface ServerVersionFlags {
  /** A version such as `1.36` or `v1.36.3`. */
  readonly serverVersion?: string | undefined;
  readonly kubeconfig?: string | undefined;
}

/** Reads the version from a flag, or from the API server of a kubeconfig; problems go to `faults`. */
export async function readServerVersion(
  { serverVersion, kubeconfig }: ServerVersionFlags,
  faults: ConfigurationFault[],
): Promise<ServerVersion | undefined> {
  if (serverVersion !== undefined) return parseServerVersion(FLAG, serverVersion, faults);
  if (kubeconfig === undefined) {
    const message = "is missing: give it, such as 1.36, or --kubeconfig, to ask the API server";
    faults.push({ name: FLAG, message });
    return undefined;
  }
  const access = await readAccess("--kubeconfig", kubeconfig, faults);
  // No API server is asked if the file cannot be built anyway.
  if (access === undefined || faults.length > 0) return undefined;
  const transport = connect(access);
  try {
    const answer = await transport.send({
      method: "GET",
      path: "/version",
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const version = Version.safeParse(parseJson(answer.body)).data;
    if (answer.status === 200 && version !== undefined)
      return parseServerVersion(`the API server ${access.server}`, version.gitVersion, faults);
    const said = classifyAnswer(answer);
    const words = "message" in said ? said.message : `${answer.status}: no version`;
    throw new Error(`${access.server} does not say its version: ${words}; give ${FLAG}`);
  } finally {
    await transport.close();
  }
}

const FLAG = "--server-version";
const ANSWER_TIMEOUT_MS = 20_000;

const Version = z.object({ gitVersion: z.string() });

function parseServerVersion(
  name: string,
  text: string,
  faults: ConfigurationFault[],
): ServerVersion | undefined {
  const digits = /^v?1\.(\d{1,3})(?:[.+-].*)?$/.exec(text)?.[1];
  if (digits === undefined) {
    faults.push({
      name,
      message: `"${sanitizeText(text, 64)}" is no version of Kubernetes; one is 1.36 or v1.36.3`,
    });
    return undefined;
  }
  const minor = Number(digits);
  const apiVersion = getApiVersion(minor);
  if (apiVersion !== undefined) return { minor, apiVersion };
  const message = `1.${minor} takes no AuthenticationConfiguration: it is beta, and on, since 1.${FIRST_BETA_MINOR}`;
  faults.push({ name, message });
  return undefined;
}
