import type { Series } from "#test/infra/monitoring/record-series.ts";

/** The labels that Prometheus adds to each series of a pod from a ServiceMonitor, except instance and pod. */
export const DEPLOYMENT = { namespace: "serverless-ccm", job: "serverless-ccm-relay" } as const;

/** Returns the labels that Prometheus adds to the series of one pod of the Deployment. */
export function buildPodTarget(letter: string): Readonly<Record<string, string>> {
  return { ...DEPLOYMENT, pod: `serverless-ccm-relay-${letter}`, instance: `${letter}:10258` };
}

/**
 * Returns what Prometheus stores when it scrapes `first` from one pod of a Deployment and `second` from the
 * other.
 */
export function mergeScrapes(first: readonly Series[], second: readonly Series[]): readonly Series[] {
  return [
    ...first.map((each) => withLabels(each, buildPodTarget("a"))),
    ...second.map((each) => withLabels(each, buildPodTarget("b"))),
  ];
}

function withLabels({ series, values }: Series, labels: Readonly<Record<string, string>>): Series {
  const [, name = "", own = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const added = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return { series: `${name}{${[...(own === "" ? [] : [own]), ...added].join(",")}}`, values };
}
