import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest, ApiResponse } from "#kube/client/transport.ts";
import { runProgram } from "#test/cli/program.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** The user that an API server sees in a token. */
export interface TakenFor {
  /** 201 if the token is accepted. */
  readonly status: number;
  readonly username?: string;
  readonly groups?: readonly string[];
}

/** Prints a file with the command line; rejects with its error output. */
export async function printFile(...flags: readonly string[]): Promise<string> {
  const ended = await runProgram(["infra", "authentication-config", ...flags]);
  if (ended.code !== 0) throw new Error(`ended with ${ended.code}: ${ended.stderr}`);
  return ended.stdout;
}

/** Sends one request with a token. */
export async function sendWith(
  plane: KubeApiserver,
  token: string,
  request: ApiRequest,
): Promise<ApiResponse> {
  const transport = connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  });
  try {
    return await transport.send(request);
  } finally {
    await transport.close();
  }
}

/** Asks an API server which user a token belongs to. */
export async function readUser(plane: KubeApiserver, token: string): Promise<TakenFor> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const { status, body } = await sendWith(plane, token, {
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body: review,
    // A review has no metadata to select.
    accept: "application/json",
  });
  if (status !== 201) return { status };
  const { username, groups } = JSON.parse(body).status.userInfo;
  return { status, username, groups };
}

/**
 * Waits until newly created tokens are accepted or rejected: until a file is read, or an issuer has answered.
 */
export function waitForStatus(plane: KubeApiserver, token: () => string, status: number): Promise<void> {
  return waitUntilTrue(
    `a token to be answered with ${status}`,
    async () => {
      if ((await readUser(plane, token())).status === status) return true;
      // Each attempt is a connection of its own.
      await sleep(250);
      return false;
    },
    120_000,
  );
}
