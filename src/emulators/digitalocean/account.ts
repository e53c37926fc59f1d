import { buildJsonAnswer, FORBIDDEN, type Resource } from "#emulators/digitalocean/answer.ts";
import { buildPage } from "#emulators/digitalocean/page.ts";

/** An account as the fake keeps it. */
export interface FakeAccount {
  status: "active" | "warning" | "locked";
  status_message: string;
  droplet_limit: number;
}

/** The state behind the account's API. */
export interface AccountState {
  readonly account: FakeAccount;
  readonly regions: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
}

/** `GET /v2/account` and `GET /v2/regions`. */
export function createAccount({ account, regions, scopes }: AccountState): Resource {
  return (request, refuse) => {
    const { method, path, query } = request;
    if (path !== "/v2/account" && path !== "/v2/regions") return undefined;
    if (method !== "GET") return refuse(405, "method_not_allowed");
    if (path === "/v2/account") {
      if (!scopes.has("account:read")) return FORBIDDEN;
      if (Object.keys(query).length > 0) return refuse(422, "unprocessable_entity", "parameters");
      return buildJsonAnswer(200, { account: { ...ACCOUNT, ...account } });
    }
    if (!scopes.has("regions:read")) return FORBIDDEN;
    return buildPage(request, refuse, {
      key: "regions",
      known: [],
      items: [...regions],
      rendered: (slug) => ({ slug, name: slug.toUpperCase(), available: true, features: [], sizes: [] }),
    });
  };
}

const ACCOUNT = {
  uuid: "b6fr89dbf6d9156cace5f3c78dc9851d957381ef",
  email: "operator@example.com",
  email_verified: true,
  team: { uuid: "5df3e3004a17e242b7c20ca6c9fc25b701a47ece", name: "Example" },
};

/** Builds an account without restrictions. */
export function buildAccount(): FakeAccount {
  return { status: "active", status_message: "", droplet_limit: 2_000 };
}
