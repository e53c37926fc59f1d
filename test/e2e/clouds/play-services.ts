import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { plainService } from "#test/clouds/plain-service.ts";
import type { StagedLoadBalancers } from "#test/e2e/clouds/staged-cloud.ts";
import { until } from "#test/e2e/stage.ts";

/** When a Service is deleted: once it has its address, or while its load balancer is being made. */
export type Deletion = "with its address" | "on its way";

/** What a Service has come to: nothing of its load balancer is left. */
export interface ServiceLife {
  readonly name: string;
  readonly gone: Deletion;
}

const TIMEOUT_MS = 180_000;
/** Of what is not as it was so much is said. */
const MAX_CHARACTERS = 500;
const SERVICES = "/api/v1/namespaces/default/services";

/** Services of each kind come, and take with them what was made of their load balancers when they go. Rejects with what was waited for. */
export async function playServices(
  { services = { web: {} }, outline, advance }: StagedLoadBalancers,
  admin: Transport,
  deletions: readonly Deletion[],
): Promise<readonly ServiceLife[]> {
  const before = await sorted();
  const names = Object.keys(services);
  for (const deletion of deletions) {
    await create();
    if (deletion === "with its address") await until("addresses", haveAddresses, TIMEOUT_MS);
    // Nothing is helped on meanwhile: a cloud that takes its time has no address yet.
    else await until("something to be made", isSomethingMade, TIMEOUT_MS);
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
        body: plainService({}, { name, ...traits }),
      });
  }

  async function read(name: string): Promise<readonly unknown[]> {
    const { status } = (await askForJson(admin, { method: "GET", path: `${SERVICES}/${name}` })) as Shown;
    return status?.loadBalancer?.ingress ?? [];
  }

  async function remove(): Promise<void> {
    for (const name of names) await askForJson(admin, { method: "DELETE", path: `${SERVICES}/${name}` });
    await until(
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
