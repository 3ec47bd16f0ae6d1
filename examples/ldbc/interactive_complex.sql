-- The questions of interactive_complex.gq in SQL, over the tables of the graph.

-- name: ic1
with recursive friends as (select src, dst from Knows union select dst, src from Knows),
walk as (
  select id, 0 as distance from Person where personId = $personId
  union
  select k.dst, w.distance + 1 from walk w join friends k on k.src = w.id where w.distance < 3
),
found as (
  select p.id, min(w.distance) as distance
  from walk w
  join Person p on p.id = w.id
  where p.firstName = $firstName and p.personId <> $personId
  group by p.id
)
select
  p.personId as friendId, p.lastName as friendLastName, f.distance as distanceFromPerson,
  p.birthday as friendBirthday, p.creationDate as friendCreationDate, p.gender as friendGender,
  p.browserUsed as friendBrowserUsed, p.locationIP as friendLocationIP,
  p.email as friendEmails, p.speaks as friendLanguages, c.name as friendCityName,
  coalesce((
    select list(u.name || ' ' || s.classYear || ' ' || place.name)
    from StudyAt s
    join University u on u.id = s.dst
    join IsLocatedIn o on o.src = u.id and o.src_type = 'University'
    join City place on place.id = o.dst
    where s.src = p.id
  ), []) as friendUniversities,
  coalesce((
    select list(e.name || ' ' || w.workFrom || ' ' || place.name)
    from WorkAt w
    join Company e on e.id = w.dst
    join IsLocatedIn o on o.src = e.id and o.src_type = 'Company'
    join Country place on place.id = o.dst
    where w.src = p.id
  ), []) as friendCompanies
from found f
join Person p on p.id = f.id
join IsLocatedIn l on l.src = p.id and l.src_type = 'Person'
join City c on c.id = l.dst
order by f.distance, p.lastName, p.personId
limit 20;

-- name: ic2
with friends as (select src, dst from Knows union select dst, src from Knows),
messages as (
  select 'Post' as type, id, messageId, content, imageFile, creationDate from Post
  union all
  select 'Comment', id, messageId, content, imageFile, creationDate from Comment
)
select
  f.personId, f.firstName, f.lastName,
  m.messageId, coalesce(m.content, m.imageFile) as messageContent, m.creationDate as messageCreationDate
from Person p
join friends k on k.src = p.id
join Person f on f.id = k.dst
join HasCreator h on h.dst = f.id
join messages m on m.id = h.src and m.type = h.src_type
where p.personId = $personId and m.creationDate < cast($maxDate as timestamptz)
order by messageCreationDate desc, m.messageId
limit 20;

-- name: ic3
with friends as (select src, dst from Knows union select dst, src from Knows),
near as (
  select k.dst as id from Person p join friends k on k.src = p.id where p.personId = $personId
  union
  select l.dst
  from Person p
  join friends k on k.src = p.id
  join friends l on l.src = k.dst
  where p.personId = $personId and l.dst <> p.id
),
messages as (
  select 'Post' as type, id, creationDate from Post union all select 'Comment', id, creationDate from Comment
),
counted as (
  select
    n.id,
    count(*) filter (where c.name = $countryXName) as xCount,
    count(*) filter (where c.name = $countryYName) as yCount
  from near n
  join HasCreator h on h.dst = n.id
  join messages m on m.id = h.src and m.type = h.src_type
  join IsLocatedIn l on l.src = m.id and l.src_type = m.type
  join Country c on c.id = l.dst
  where m.creationDate >= cast($startDate as timestamptz)
  and m.creationDate < cast($startDate as timestamptz) + to_days(cast($durationDays as integer))
  group by n.id
)
select p.personId, p.firstName, p.lastName, xCount, yCount, xCount + yCount as count
from counted n
join Person p on p.id = n.id
join IsLocatedIn l on l.src = p.id and l.src_type = 'Person'
join IsPartOf o on o.src = l.dst and o.src_type = 'City'
join Country home on home.id = o.dst
where xCount > 0 and yCount > 0 and home.name not in ($countryXName, $countryYName)
order by count desc, p.personId
limit 20;

-- name: ic4
with friends as (select src, dst from Knows union select dst, src from Knows),
posts as (
  select t.name, post.id, post.creationDate
  from Person p
  join friends k on k.src = p.id
  join HasCreator h on h.dst = k.dst and h.src_type = 'Post'
  join Post post on post.id = h.src
  join HasTag g on g.src = post.id and g.src_type = 'Post'
  join Tag t on t.id = g.dst
  where p.personId = $personId
)
select name as tagName, count(*) as postCount
from posts
where creationDate >= cast($startDate as timestamptz)
and creationDate < cast($startDate as timestamptz) + to_days(cast($durationDays as integer))
and name not in (select name from posts where creationDate < cast($startDate as timestamptz))
group by name
order by postCount desc, tagName
limit 10;

-- name: ic5
with friends as (select src, dst from Knows union select dst, src from Knows),
near as (
  select k.dst as id from Person p join friends k on k.src = p.id where p.personId = $personId
  union
  select l.dst
  from Person p
  join friends k on k.src = p.id
  join friends l on l.src = k.dst
  where p.personId = $personId and l.dst <> p.id
)
select f.title as forumTitle, count(h.src) as postCount
from near n
join HasMember m on m.dst = n.id and m.joinDate > cast($minDate as timestamptz)
join Forum f on f.id = m.src
left join (ContainerOf c join HasCreator h on h.src = c.dst and h.src_type = 'Post') on c.src = f.id and h.dst = n.id
group by f.forumId, f.title
order by postCount desc, f.forumId
limit 20;

-- name: ic6
with friends as (select src, dst from Knows union select dst, src from Knows),
near as (
  select k.dst as id from Person p join friends k on k.src = p.id where p.personId = $personId
  union
  select l.dst
  from Person p
  join friends k on k.src = p.id
  join friends l on l.src = k.dst
  where p.personId = $personId and l.dst <> p.id
)
select other.name as tagName, count(*) as postCount
from near n
join HasCreator h on h.dst = n.id and h.src_type = 'Post'
join HasTag a on a.src = h.src and a.src_type = 'Post'
join Tag known on known.id = a.dst and known.name = $tagName
join HasTag b on b.src = h.src and b.src_type = 'Post' and b.dst <> known.id
join Tag other on other.id = b.dst
group by other.name
order by postCount desc, tagName
limit 10;

-- name: ic7
with friends as (select src, dst from Knows union select dst, src from Knows),
messages as (
  select 'Post' as type, id, messageId, content, imageFile, creationDate from Post
  union all
  select 'Comment', id, messageId, content, imageFile, creationDate from Comment
),
liked as (
  select
    p.id as owner, l.src as liker, l.creationDate as likeCreationDate, m.messageId,
    coalesce(m.content, m.imageFile) as messageContent, m.creationDate,
    row_number() over (partition by l.src order by l.creationDate desc, m.messageId) as place
  from Person p
  join HasCreator h on h.dst = p.id
  join messages m on m.id = h.src and m.type = h.src_type
  join Likes l on l.dst = m.id and l.dst_type = m.type
  where p.personId = $personId
)
select
  p.personId, p.firstName, p.lastName, l.likeCreationDate, l.messageId, l.messageContent,
  cast(floor((epoch_ms(l.likeCreationDate) - epoch_ms(l.creationDate)) / 60000) as bigint) as minutesLatency,
  not exists (select 1 from friends k where k.src = l.liker and k.dst = l.owner) as isNew
from liked l
join Person p on p.id = l.liker
where l.place = 1
order by l.likeCreationDate desc, p.personId
limit 20;

-- name: ic8
with messages as (select 'Post' as type, id from Post union all select 'Comment', id from Comment)
select
  a.personId, a.firstName, a.lastName,
  c.creationDate as commentCreationDate, c.messageId as commentId, c.content as commentContent
from Person p
join HasCreator h on h.dst = p.id
join messages m on m.id = h.src and m.type = h.src_type
join ReplyOf r on r.dst = m.id and r.dst_type = m.type
join Comment c on c.id = r.src
join HasCreator o on o.src = c.id and o.src_type = 'Comment'
join Person a on a.id = o.dst
where p.personId = $personId
order by commentCreationDate desc, commentId
limit 20;

-- name: ic9
with friends as (select src, dst from Knows union select dst, src from Knows),
near as (
  select k.dst as id from Person p join friends k on k.src = p.id where p.personId = $personId
  union
  select l.dst
  from Person p
  join friends k on k.src = p.id
  join friends l on l.src = k.dst
  where p.personId = $personId and l.dst <> p.id
),
messages as (
  select 'Post' as type, id, messageId, content, imageFile, creationDate from Post
  union all
  select 'Comment', id, messageId, content, imageFile, creationDate from Comment
)
select
  f.personId, f.firstName, f.lastName,
  m.messageId, coalesce(m.content, m.imageFile) as messageContent, m.creationDate as messageCreationDate
from near n
join Person f on f.id = n.id
join HasCreator h on h.dst = f.id
join messages m on m.id = h.src and m.type = h.src_type
where m.creationDate < cast($maxDate as timestamptz)
order by messageCreationDate desc, m.messageId
limit 20;

-- name: ic10
with friends as (select src, dst from Knows union select dst, src from Knows),
far as (
  select distinct p.id as person, l.dst as id
  from Person p
  join friends k on k.src = p.id
  join friends l on l.src = k.dst
  where p.personId = $personId and l.dst <> p.id
  and not exists (select 1 from friends d where d.src = p.id and d.dst = l.dst)
),
posts as (
  select
    f.id,
    exists (
      select 1
      from HasTag g
      join HasInterest i on i.dst = g.dst
      where g.src = h.src and g.src_type = 'Post' and i.src = f.person
    ) as common
  from far f
  join HasCreator h on h.dst = f.id and h.src_type = 'Post'
)
select
  p.personId, p.firstName, p.lastName,
  (select count(*) filter (where common) - count(*) filter (where not common) from posts where posts.id = p.id)
    as commonInterestScore,
  p.gender, c.name as cityName
from far f
join Person p on p.id = f.id
join IsLocatedIn l on l.src = p.id and l.src_type = 'Person'
join City c on c.id = l.dst
where (month(p.birthday) = $month and day(p.birthday) >= 21)
or (month(p.birthday) = $month % 12 + 1 and day(p.birthday) < 22)
order by commonInterestScore desc, p.personId
limit 10;

-- name: ic11
with friends as (select src, dst from Knows union select dst, src from Knows),
near as (
  select k.dst as id from Person p join friends k on k.src = p.id where p.personId = $personId
  union
  select l.dst
  from Person p
  join friends k on k.src = p.id
  join friends l on l.src = k.dst
  where p.personId = $personId and l.dst <> p.id
)
select f.personId, f.firstName, f.lastName, o.name as companyName, w.workFrom
from near n
join Person f on f.id = n.id
join WorkAt w on w.src = f.id and w.workFrom < $workFromYear
join Company o on o.id = w.dst
join IsLocatedIn l on l.src = o.id and l.src_type = 'Company'
join Country c on c.id = l.dst and c.name = $countryName
order by w.workFrom, f.personId, companyName desc
limit 10;

-- name: ic12
with recursive friends as (select src, dst from Knows union select dst, src from Knows),
classes as (
  select id from TagClass where name = $tagClassName
  union
  select s.src from classes c join IsSubclassOf s on s.dst = c.id
)
select f.personId, f.firstName, f.lastName, list(distinct t.name) as tagNames, count(distinct r.src) as replyCount
from Person p
join friends k on k.src = p.id
join Person f on f.id = k.dst
join HasCreator h on h.dst = f.id and h.src_type = 'Comment'
join ReplyOf r on r.src = h.src and r.dst_type = 'Post'
join HasTag g on g.src = r.dst and g.src_type = 'Post'
join Tag t on t.id = g.dst
join HasType y on y.src = t.id
join classes c on c.id = y.dst
where p.personId = $personId
group by f.personId, f.firstName, f.lastName
order by replyCount desc, f.personId
limit 20;

-- name: ic13
with recursive friends as (select src, dst from Knows union select dst, src from Knows),
walk as (
  select id, 0 as distance from Person where personId = $person1Id
  union
  select k.dst, w.distance + 1 from walk w join friends k on k.src = w.id where w.distance < 12
)
select coalesce(min(w.distance), -1) as shortestPathLength
from walk w
join Person p on p.id = w.id
where p.personId = $person2Id;

-- name: ic14
with recursive friends as (select src, dst from Knows union select dst, src from Knows),
reached as (
  select id, 0 as distance from Person where personId = $person1Id
  union
  select k.dst, r.distance + 1 from reached r join friends k on k.src = r.id where r.distance < 10
),
nearest as (select id, min(distance) as distance from reached group by id),
walk as (
  select [id] as path from Person where personId = $person1Id
  union all
  select list_append(w.path, k.dst)
  from walk w
  join friends k on k.src = w.path[-1]
  join nearest n on n.id = k.dst and n.distance = len(w.path)
),
found as (
  select path from walk where path[-1] = (select id from Person where personId = $person2Id)
),
messages as (select 'Post' as type, id from Post union all select 'Comment', id from Comment),
replies as (
  select h.dst as author, o.dst as creator, if(m.type = 'Post', 1.0, 0.5) as weight
  from ReplyOf r
  join HasCreator h on h.src = r.src and h.src_type = 'Comment'
  join messages m on m.id = r.dst and m.type = r.dst_type
  join HasCreator o on o.src = m.id and o.src_type = m.type
),
steps as (select path, unnest(range(1, len(path))) as place from found)
select
  f.path as personIdsInPath,
  cast(coalesce(sum(r.weight), 0) as double) as pathWeight
from found f
left join steps s on s.path = f.path
left join replies r
on (r.author = s.path[s.place] and r.creator = s.path[s.place + 1])
or (r.creator = s.path[s.place] and r.author = s.path[s.place + 1])
where len(f.path) = (select min(len(path)) from found)
group by f.path
order by pathWeight desc;
