"""Tenants' shares: what each uses, what its quota lets it use, and its dominant share."""

from __future__ import annotations

from math import inf

from argosy.scheduling.cluster import Cluster, Quota
from argosy.scheduling.life import Life


class Quotas:
    """Use by tenant. `rule`: none, limit, borrow (Policy.quota); a tenant without a quota is not limited."""

    def __init__(self, cluster: Cluster, rule: str) -> None:
        self.known: dict[str, Quota] = {quota.tenant: quota for quota in cluster.quotas}
        self.rule = rule if self.known else "none"
        self.used: dict[str, float] = {}
        self._others: dict[str, list[float]] = {}
        self.total = float(cluster.total)
        self.cpus = float(cluster.cpus.sum()) if cluster.cpus is not None else inf
        self.memory = float(cluster.memory_bytes.sum()) if cluster.memory_bytes is not None else inf

    def add(self, life: Life, accelerators: float, workers: int) -> None:
        """The job's tenant uses so much more (negative: less)."""
        tenant = life.job.tenant
        self.used[tenant] = round(self.used.get(tenant, 0.0) + accelerators, 9)
        others = self._others.setdefault(tenant, [0.0, 0.0])
        others[0] += life.job.cpus * workers
        others[1] += life.job.memory_bytes * workers

    def share(self, tenant: str) -> float:
        """Dominant share ÷ weight (DRF): the largest share that the tenant has of any kind of resource."""
        cpus, memory = self._others.get(tenant, (0.0, 0.0))
        dominant = max(self.used.get(tenant, 0.0) / self.total, cpus / self.cpus, memory / self.memory)
        quota = self.known.get(tenant)
        return dominant / (quota.weight if quota else 1.0)

    def room(self, tenant: str, freed: dict[str, float] | None = None) -> float:
        """Accelerators that the tenant may take besides, if others gave back what `freed` says."""
        quota = self.known.get(tenant)
        if self.rule == "none" or quota is None:
            return inf
        used = self._used(tenant, freed)
        if self.rule == "limit" or not quota.cohort:
            return quota.accelerators - used
        cohort = [one for one in self.known.values() if one.cohort == quota.cohort]
        left = sum(one.accelerators for one in cohort) - used
        for one in cohort:
            if one is not quota:
                kept = 0.0 if one.lend is None else max(one.accelerators - one.lend, 0)
                left -= max(self._used(one.tenant, freed), kept)
        return min(quota.accelerators + quota.borrow - used, left)

    def most(self, tenant: str) -> float:
        """Accelerators that the tenant could have if nobody else used any (what others keep for themselves apart)."""
        used, self.used = self.used, {}
        room = self.room(tenant)
        self.used = used
        return room

    def _used(self, tenant: str, freed: dict[str, float] | None) -> float:
        return self.used.get(tenant, 0.0) - (freed.get(tenant, 0.0) if freed else 0.0)

    def borrows(self, tenant: str, freed: dict[str, float] | None = None) -> bool:
        """Whether the tenant uses more than its own."""
        quota = self.known.get(tenant)
        return self.rule == "borrow" and quota is not None and self._used(tenant, freed) > quota.accelerators

    def entitled(self, tenant: str, accelerators: float) -> bool:
        """Whether so many more would still be the tenant's own."""
        quota = self.known.get(tenant)
        return quota is not None and self.used.get(tenant, 0.0) + accelerators <= quota.accelerators

    def same_cohort(self, a: str, b: str) -> bool:
        """Whether two tenants lend to each other."""
        one, other = self.known.get(a), self.known.get(b)
        return one is not None and other is not None and bool(one.cohort) and one.cohort == other.cohort
