import { inspect } from "node:util";
import { expect } from "vitest";
import type * as z from "zod";
import { Cluster } from "#config/cluster.ts";
import { SignInError } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { type SignInOptions, signIn } from "#config/sign-in.ts";

export type WrittenSignIn = z.input<typeof SignIn>;

/** Builds a cluster whose functions sign in this way. */
export function buildCluster(how: WrittenSignIn, difference: object = {}): Cluster {
  return Cluster.parse({
    name: "blue",
    server: "https://api.blue.example:6443",
    signIn: { functions: how },
    cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-1" },
    ...difference,
  });
}

export function signInCluster(
  how: WrittenSignIn,
  now?: () => number,
  difference?: object,
): Promise<SignInOptions> {
  return signIn(buildCluster(how, difference), "functions", now === undefined ? {} : { now });
}

export async function getToken(
  { authorization }: SignInOptions,
  options?: { readonly fresh?: boolean },
): Promise<string | undefined> {
  return (await authorization?.(undefined, options))?.replace(/^Bearer /, "");
}

/** Checks a sign-in error: role, cluster, kind and reason, and no secret in any printed form. */
export async function expectSignInError(
  signingIn: Promise<unknown>,
  code: string,
  says: RegExp,
  secrets: readonly string[] = [],
): Promise<void> {
  const error: unknown = await signingIn.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(SignInError);
  expect(error).toMatchObject({ code, cluster: "blue", role: "functions" });
  const { message } = error as SignInError;
  expect(message).toMatch(/^cluster blue, sign-in of the functions: [a-z-]+: /);
  expect(message).toMatch(says);
  const all = `${inspect(error, { depth: 10, showHidden: true })}${JSON.stringify(error)}`;
  for (const secret of secrets) expect(all).not.toContain(secret);
}
