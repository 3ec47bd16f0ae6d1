-- The questions of lsqb.gq in SQL, over the tables of the graph: `omnigraph sql`, `graph.sql`.
-- An edge table has the ids of its ends, src and dst, and where an end has several types, src_type and dst_type.

-- name: lsqb_1
select count(*) as count
from IsPartOf p
join IsLocatedIn l on l.dst = p.src and l.dst_type = 'City' and l.src_type = 'Person'
join HasMember m on m.dst = l.src
join ContainerOf c on c.src = m.src
join ReplyOf r on r.dst = c.dst and r.dst_type = 'Post'
join HasTag t on t.src = r.src and t.src_type = 'Comment'
join HasType h on h.src = t.dst
where p.src_type = 'City';

-- name: lsqb_2
with friends as (select src, dst from Knows union select dst, src from Knows)
select count(*) as count
from friends f
join HasCreator c on c.dst = f.src and c.src_type = 'Comment'
join ReplyOf r on r.src = c.src and r.dst_type = 'Post'
join HasCreator p on p.src = r.dst and p.src_type = 'Post' and p.dst = f.dst;

-- name: lsqb_3
with friends as (select src, dst from Knows union select dst, src from Knows),
homes as (
  select l.src as person, p.dst as country
  from IsLocatedIn l
  join IsPartOf p on p.src = l.dst and p.src_type = 'City'
  where l.src_type = 'Person'
)
select count(*) as count
from friends ab
join friends bc on bc.src = ab.dst
join friends ca on ca.src = bc.dst and ca.dst = ab.src
join homes a on a.person = ab.src
join homes b on b.person = bc.src and b.country = a.country
join homes c on c.person = ca.src and c.country = a.country;

-- name: lsqb_4
select count(*) as count
from HasTag t
join HasCreator c on c.src = t.src and c.src_type = t.src_type
join Likes l on l.dst = t.src and l.dst_type = t.src_type
join ReplyOf r on r.dst = t.src and r.dst_type = t.src_type
where t.src_type in ('Post', 'Comment');

-- name: lsqb_5
select count(*) as count
from HasTag a
join ReplyOf r on r.dst = a.src and r.dst_type = a.src_type
join HasTag b on b.src = r.src and b.src_type = 'Comment'
where a.dst <> b.dst;

-- name: lsqb_6
with friends as (select src, dst from Knows union select dst, src from Knows)
select count(*) as count
from friends ab
join friends bc on bc.src = ab.dst and bc.dst <> ab.src
join HasInterest i on i.src = bc.dst;

-- name: lsqb_7
select count(*) as count
from HasTag t
join HasCreator c on c.src = t.src and c.src_type = t.src_type
left join Likes l on l.dst = t.src and l.dst_type = t.src_type
left join ReplyOf r on r.dst = t.src and r.dst_type = t.src_type
where t.src_type in ('Post', 'Comment');

-- name: lsqb_8
select count(*) as count
from HasTag a
join ReplyOf r on r.dst = a.src and r.dst_type = a.src_type
join HasTag b on b.src = r.src and b.src_type = 'Comment'
where a.dst <> b.dst
and not exists (select 1 from HasTag t where t.src = r.src and t.src_type = 'Comment' and t.dst = a.dst);

-- name: lsqb_9
with friends as (select src, dst from Knows union select dst, src from Knows)
select count(*) as count
from friends ab
join friends bc on bc.src = ab.dst and bc.dst <> ab.src
join HasInterest i on i.src = bc.dst
where not exists (select 1 from friends f where f.src = ab.src and f.dst = bc.dst);
