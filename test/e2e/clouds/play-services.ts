import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { plainService } from "#test/clouds/plain-service.ts";
import type { StagedLoadBalancers } from "#test/e2e/clouds/staged-cloud.ts";
import { until } from "#test/e2e/stage.ts";

/** What Services have come to. */
export interface ServiceLife {
  readonly name: string;
  /** When it was deleted; either way nothing of its load balancer is left. */
  readonly gone: "with its address" | "on its way";
}

const TIMEOUT_MS = 180_000;
const SERVICES = "/api/v1/namespaces/default/services";

/**
 * Services of each kind get addresses, and take their load balancers with them when they go; so do those that go while their load
 * balancers are being made. Rejects with what was waited for.
 */
export async function playServices(
  { services = { web: {} }, outline, advance }: StagedLoadBalancers,
  admin: Transport,
): Promise<readonly ServiceLife[]> {
  const before = await sorted();
  const names = Object.keys(services);
  await create();
  await until(
    `addresses of ${names.join(", ")}`,
    async () => {
      await advance(admin);
      const shown = await Promise.all(names.map(read));
      return shown.every((ingress) => ingress.length > 0);
    },
    TIMEOUT_MS,
  );
  await remove();

  await create();
  // Nothing is helped on meanwhile: where a cloud takes its time, they are deleted before there is an address.
  await until("something to be made", async () => (await sorted()).join() !== before.join(), TIMEOUT_MS);
  await remove();
  return (["with its address", "on its way"] as const).flatMap((gone) =>
    names.map((name) => ({ name, gone })),
  );

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
    const left = (await sorted()).filter((thing) => !before.includes(thing));
    if (left.length > 0)
      throw new Error(`${names.join(", ")} went, and there is still ${left.join("; ").slice(0, 500)}`);
  }
}

interface Shown {
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly unknown[] } };
}
