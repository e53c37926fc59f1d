import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { buildService } from "#test/clouds/service-builders.ts";
import type { StagedLoadBalancers } from "#test/e2e/clouds/staged-cloud.ts";
import { waitUntil } from "#test/e2e/stage.ts";

/** When a Service is deleted: once it has its address, or while its load balancer is being made. */
export type Deletion = "with its address" | "on its way";

/** The completed life of a Service: nothing of its load balancer is left. */
export interface ServiceLife {
  readonly name: string;
  readonly gone: Deletion;
}

const TIMEOUT_MS = 180_000;
/** The maximum length of a printed difference. */
const MAX_CHARACTERS = 500;
const SERVICES = "/api/v1/namespaces/default/services";

/**
 * Creates Services of each kind, and deletes them together with their load balancers. Rejects with what it
 * waited for.
 */
export async function playServices(
  { services = { web: {} }, outline, advance }: StagedLoadBalancers,
  admin: Transport,
  deletions: readonly Deletion[],
): Promise<readonly ServiceLife[]> {
  const before = await sorted();
  const names = Object.keys(services);
  for (const deletion of deletions) {
    await create();
    if (deletion === "with its address") await waitUntil("addresses", haveAddresses, TIMEOUT_MS);
    // Nothing advances the cloud meanwhile: a slow cloud has no address yet.
    else await waitUntil("something to be made", isSomethingMade, TIMEOUT_MS);
    await remove();
  }
  return deletions.flatMap((gone) => names.map((name) => ({ name, gone })));

  async function haveAddresses(): Promise<boolean> {
    await advance(admin);
    const shown = await Promise.all(names.map(read));
    return shown.every((ingress) => ingress.length > 0);
  }

  async function isSomethingMade(): Promise<boolean> {
    return (await sorted()).join() !== before.join();
  }

  async function sorted(): Promise<readonly string[]> {
    return (await outline(admin)).toSorted();
  }

  async function create(): Promise<void> {
    for (const [name, traits] of Object.entries(services))
      await askForJson(admin, {
        method: "POST",
        path: SERVICES,
        body: buildService({}, { name, ...traits }),
      });
  }

  async function read(name: string): Promise<readonly unknown[]> {
    const { status } = (await askForJson(admin, { method: "GET", path: `${SERVICES}/${name}` })) as Shown;
    return status?.loadBalancer?.ingress ?? [];
  }

  async function remove(): Promise<void> {
    for (const name of names) await askForJson(admin, { method: "DELETE", path: `${SERVICES}/${name}` });
    await waitUntil(
      `${names.join(", ")} to go`,
      async () => {
        await advance(admin);
        const answers = await Promise.all(
          names.map((name) => admin.send({ method: "GET", path: `${SERVICES}/${name}` })),
        );
        return answers.every(({ status }) => status === 404);
      },
      TIMEOUT_MS,
    );
    const after = await sorted();
    const differences = [
      ...after.filter((thing) => !before.includes(thing)).map((thing) => `there is still ${thing}`),
      ...before.filter((thing) => !after.includes(thing)).map((thing) => `there is no longer ${thing}`),
    ];
    if (differences.length > 0)
      throw new Error(`${names.join(", ")} went, and ${differences.join("; ").slice(0, MAX_CHARACTERS)}`);
  }
}

interface Shown {
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly unknown[] } };
}
