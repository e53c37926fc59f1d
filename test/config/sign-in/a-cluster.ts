import { inspect } from "node:util";
import { expect } from "vitest";
import type * as z from "zod";
import { Cluster } from "#config/cluster.ts";
import { SignInError } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { type SignedIn, signIn } from "#config/sign-in.ts";

/** A way to sign in, as it is written. */
export type WrittenSignIn = z.input<typeof SignIn>;

/** A cluster whose functions sign in so, with the difference. */
export function aCluster(how: WrittenSignIn, difference: object = {}): Cluster {
  return Cluster.parse({
    name: "blue",
    server: "https://api.blue.example:6443",
    signIn: { functions: how },
    cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-1" },
    ...difference,
  });
}

/** Signs the functions of that cluster in. */
export function signedIn(how: WrittenSignIn, now?: () => number, difference?: object): Promise<SignedIn> {
  return signIn(aCluster(how, difference), "functions", now === undefined ? {} : { now });
}

/** The token that requests carry now. */
export async function tokenOf(
  { authorization }: SignedIn,
  options?: { readonly fresh?: boolean },
): Promise<string | undefined> {
  return (await authorization?.(undefined, options))?.replace(/^Bearer /, "");
}

/** Asserts the error of a sign-in that cannot be had: who, where, by which kind and why; and nothing of what is secret, however it is printed. */
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
